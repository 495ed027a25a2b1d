/* SPDX-License-Identifier: Apache-2.0 */
/* glibc 2.35 gave hypot() a new version, and what is linked there asks for it. The linker option --wrap=hypot leads
   calls here, to the version that every glibc has, so that a wheel runs from glibc 2.34 on. */
__asm__(".symver lime_hypot, hypot@GLIBC_2.2.5");
double lime_hypot(double x, double y);
double __wrap_hypot(double x, double y);

double __wrap_hypot(double x, double y) { return lime_hypot(x, y); }
