# The same image as `./dev image` makes without a daemon.
FROM debian:12 AS build
WORKDIR /src
COPY . .
RUN apt-get update && grep -v '^#' tools/packages.txt | xargs apt-get install -y --no-install-recommends \
 && cmake --preset release && ninja -C out/release manager

FROM scratch
COPY --from=build /src/out/release/manager /manager
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532
ENTRYPOINT ["/manager"]
