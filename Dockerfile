# SPDX-License-Identifier: Apache-2.0
# The programs on Debian 12, built from this folder for any x86-64 CPU.
#   docker build -t lime .
#   docker run --rm -v "$PWD:/work" lime lime-metrics entropy capture.h5
# The explorer needs a display; docs/install.md shows how to give it one.
FROM debian:12-slim AS build
WORKDIR /src
COPY scripts/install-deps.sh scripts/
RUN scripts/install-deps.sh && apt-get install -y --no-install-recommends file && rm -rf /var/lib/apt/lists/*
COPY . .
RUN LIME_JOBS=$(nproc) scripts/package.sh none && mv build/package/lime_*.deb /lime.deb

FROM debian:12-slim
COPY --from=build /lime.deb /tmp/lime.deb
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/lime.deb libopenblas0-openmp \
  && rm -rf /var/lib/apt/lists/* /tmp/lime.deb
RUN useradd --create-home lime
USER lime
WORKDIR /work
CMD ["lime-metrics", "--help"]
