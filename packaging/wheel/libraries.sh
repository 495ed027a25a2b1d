#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the libraries that a wheel contains, in FOLDER: HDF5 from Debian's source package, static and without libcurl
# (Debian's needs libcurl and is not position-independent), and OpenBLAS with LAPACK as a shared
# library that needs no glibc newer than 2.34, from Debian's static one. Their licences are in FOLDER/licenses.
#   packaging/wheel/libraries.sh FOLDER  # ends with 3 if the source package cannot be downloaded
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
mkdir -p "$1"
cd "$1"
folder=$PWD

if [ ! -e lib/libhdf5.a ]; then
  mkdir -p source/lists/partial
  cd source
  sources=/etc/apt/sources.list.d/debian.sources
  if [ -e "$sources" ]; then
    sed 's/^Types: .*/Types: deb-src/' "$sources" >deb-src.sources
  else
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >deb-src.list
  fi
  options=(-o Dir::Etc::sourcelist="$PWD/$(ls deb-src.*)" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists"
    -o APT::Sandbox::User=root)
  rm -rf hdf5-*/
  if ! apt-get "${options[@]}" update || ! apt-get "${options[@]}" source hdf5; then
    echo "libraries: the source package hdf5 could not be downloaded" >&2
    exit 3
  fi
  cd ..
  rm -rf hdf5 && mkdir hdf5 && cd hdf5 # its CMake writes into the current folder
  cmake -S "$(echo ../source/hdf5-*/)" -B . -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_VISIBILITY_PRESET=hidden -DCMAKE_INSTALL_PREFIX="$folder" \
    -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_HL_LIB=OFF \
    -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON
  ninja install
  cd ..
fi

if [ ! -e lib/liblime-openblas.so ]; then
  gcc -O2 -fPIC -c "$here/hypot.c" -o hypot.o
  gcc -shared -o lib/liblime-openblas.so -Wl,-soname,liblime-openblas.so -Wl,-s -Wl,-Bsymbolic -Wl,--as-needed -Wl,--wrap=hypot \
    hypot.o -Wl,--whole-archive "$(gcc -print-file-name=libopenblas.a)" -Wl,--no-whole-archive -lgfortran -lgomp -lm
fi

# Licences of what is linked into the wheel, by Debian package.
mkdir -p licenses
gcc=$(gcc -dumpversion)
for package in libopenblas-openmp-dev libhdf5-dev libgfortran-$gcc-dev libgomp1 libstdc++-$gcc-dev libfaiss-dev \
  libeigen3-dev libspectra-dev libfmt-dev nlohmann-json3-dev libcli11-dev libssl-dev zlib1g-dev libpcre2-dev \
  libutf8proc-dev; do
  cp -L "/usr/share/doc/$package/copyright" "licenses/$package.txt"
done
