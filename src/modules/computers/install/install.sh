#!/bin/sh
# Makes this machine a computer of the Ukiyo at @origin@.
#
#   curl -fsS @origin@/install | UK_PAIR_TOKEN=ukp_… sh -s -- --allow exec,terminal
#
# It downloads the daemon from that address and nowhere else, checks the SHA-256 of every file, and keeps it in
# ~/.local/share/ukiyo (or $XDG_DATA_HOME/ukiyo). It takes Node 24 or newer where it finds one, else this server's own where
# that fits. Then it pairs this machine: by UK_PAIR_TOKEN, or it asks for the token or code. What stands behind `--` is handed
# to `uk computer pair`. Last it begins the daemon: as a service of yours where there is systemd or launchd, else detached.
# Nothing is done as another user, and nothing outside your home. It is all in functions, and the last line calls the
# first of them: a script that came in half does nothing.
set -eu

origin='@origin@'

main() {
  umask 077
  platform=$(platform_here)
  place="${XDG_DATA_HOME:-${HOME:?HOME is not set}/.local/share}/ukiyo"
  check_place "$@"
  mkdir -p "$place/versions" "$place/bin"
  work=$(mktemp -d "$place/versions/new-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  get "$origin/install/$platform" "$work/manifest" || stop "$origin has no program for $platform"
  release=$(hash_of "$work/manifest")
  while read -r hash name; do
    case $name in
      uk.mjs | pty.node | spawn-helper) verified "$hash" "$work/$name" ;;
      *) stop "the manifest of $origin names \"$name\", which does not belong there" ;;
    esac
  done <"$work/manifest"
  # What is left is a line without its end.
  [ -z "$hash" ] || stop "the manifest of $origin is not whole"
  [ -s "$work/uk.mjs" ] && [ -s "$work/pty.node" ] || stop "the manifest of $origin is not whole"
  chmod 700 "$work/pty.node"
  [ ! -e "$work/spawn-helper" ] || chmod 700 "$work/spawn-helper"

  find_node
  "$node" "$work/uk.mjs" computer check </dev/null || stop "the program does not run here; a Linux without glibc (Alpine) is not supported"

  rm -rf "$place/versions/$release"
  mv "$work" "$place/versions/$release"
  ln -sfn "versions/$release" "$place/current"
  launcher
  say "The daemon lies in $place."
  join_server "$@"
  say_where
}

# All daemons that are started from a place run what its server sends.
check_place() {
  own=${UK_CONFIG_DIR:-${XDG_CONFIG_HOME:-$HOME/.config}/ukiyo}
  for claim in "$place"/daemons/*; do
    [ -f "$claim" ] || continue
    { IFS= read -r server && IFS= read -r folder; } <"$claim" || continue
    [ "$server" != "$origin" ] && [ -e "$folder/computer.json" ] || continue
    if [ "$folder" = "$own" ]; then
      case " $* " in *' --replace '*) continue ;; esac
      stop "this machine is paired with $server. To pair it with $origin instead give --replace; to pair it with both give this one XDG_DATA_HOME and UK_CONFIG_DIR of its own"
    fi
    stop "the program in $place comes from $server, for the daemon of $folder. Give this one a place of its own: XDG_DATA_HOME=…"
  done
}

platform_here() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
    Darwin-x86_64) echo darwin-x64 ;;
    Darwin-arm64) echo darwin-arm64 ;;
    *) stop "there is no daemon for $(uname -s) on $(uname -m)" ;;
  esac
}

# Sets $node, and keeps a link to it (or the one that was downloaded) at $place/node.
find_node() {
  for node in "$place/node" "$(command -v node || true)"; do
    if fits "$node"; then
      [ "$node" = "$place/node" ] || ln -sf "$node" "$place/node"
      return 0
    fi
  done
  get "$origin/install/$platform/node" "$work/node.manifest" ||
    stop "Node 24 or newer is needed here: install it and try again ($origin gives out only its own, for another platform)"
  read -r hash name <"$work/node.manifest"
  rm "$work/node.manifest"
  say "Downloading Node from $origin, once …"
  verified "$hash" "$work/node"
  chmod 700 "$work/node"
  fits "$work/node" || stop "the Node of $origin does not run here: install Node 24 or newer and try again"
  mv -f "$work/node" "$place/node"
  node=$place/node
}

fits() {
  [ -n "$1" ] && [ -x "$1" ] && "$1" -e 'process.exit(+process.versions.node.split(".")[0] >= 24 ? 0 : 1)' 2>/dev/null </dev/null
}

# The command `uk`, of this machine's part.
launcher() {
  cat >"$place/bin/uk.new" <<'EOF'
#!/bin/sh
# The part of `uk` for the machine of a computer; written by /install of a Ukiyo.
set -eu
self=$0
while [ -h "$self" ]; do
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self=${self%/*}/$target ;; esac
done
place=$(CDPATH='' cd -- "${self%/*}/.." && pwd -P)
exec "$place/node" --disable-warning=ExperimentalWarning "$place/current/uk.mjs" "$@"
EOF
  chmod 700 "$place/bin/uk.new"
  mv -f "$place/bin/uk.new" "$place/bin/uk"
  uk=$place/bin/uk
  # A `uk` of somebody else's stays.
  mkdir -p "$HOME/.local/bin"
  [ -e "$HOME/.local/bin/uk" ] || [ -h "$HOME/.local/bin/uk" ] || ln -s "$uk" "$HOME/.local/bin/uk"
}

join_server() {
  state="${UK_CONFIG_DIR:-${XDG_CONFIG_HOME:-$HOME/.config}/ukiyo}/computer.json"
  if [ -e "$state" ] && [ $# -eq 0 ] && [ -z "${UK_PAIR_TOKEN:-}" ]; then
    say "This machine is paired already."
  elif [ -n "${UK_PAIR_TOKEN:-}" ]; then
    "$uk" computer pair --quiet --url "$origin" "$@" </dev/null
  elif (: </dev/tty) 2>/dev/null; then
    # Stdin is this script.
    "$uk" computer pair --quiet --url "$origin" "$@" </dev/tty
  else
    say "Pair it: UK_PAIR_TOKEN=ukp_… $uk computer run --url $origin --detach"
    return 0
  fi
  # It pairs once: what runs from here on needs no token.
  unset UK_PAIR_TOKEN
  case $platform in
    darwin-*) "$uk" computer install </dev/null ;;
    *)
      if systemctl --user show-environment >/dev/null 2>&1; then
        "$uk" computer install </dev/null
      else
        "$uk" computer run --detach </dev/null
      fi
      ;;
  esac
}

# For a shell that finds no `uk` by its name, or another one.
say_where() {
  link=$HOME/.local/bin/uk
  [ "$(readlink "$link" 2>/dev/null || true)" = "$uk" ] || link=$uk
  [ "$(command -v uk || true)" = "$link" ] || say "Your PATH does not lead to this \`uk\`: call it as $link"
}

get() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsS --retry 2 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    # Only GNU's knows how not to go where it is redirected.
    case $(wget --help 2>&1) in
      *max-redirect*) wget -q --max-redirect=0 -O "$2" "$1" ;;
      *) wget -q -O "$2" "$1" ;;
    esac
  else
    stop "curl or wget is needed"
  fi
}

# Downloads the file of this SHA-256, and keeps it only if it is that one.
verified() {
  case $1 in *[!0-9a-f]* | '') stop "\"$1\" is no SHA-256" ;; esac
  get "$origin/install/files/$1" "$2" || stop "$origin/install/files/$1 could not be downloaded"
  [ "$(hash_of "$2")" = "$1" ] || {
    rm -f "$2"
    stop "what came from $origin/install/files/$1 has another SHA-256, and was thrown away"
  }
}

hash_of() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d' ' -f1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 <"$1" | cut -d' ' -f1
  else
    stop "sha256sum or shasum is needed"
  fi
}

say() { printf '%s\n' "$*" >&2; }
stop() {
  say "install: $*"
  exit 1
}

main "$@"
