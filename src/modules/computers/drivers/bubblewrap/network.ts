/** The internet for a sandbox: a network of its own that `pasta` carries out, without the host's loopback. */
import { shutScript } from '../inside/shut.ts'

/** By default `pasta` forwards ports of the host, and hands the gateway's address on to the host's loopback. */
const PASTA = [
  'pasta',
  '--config-net',
  '--quiet',
  '-t',
  'none',
  '-u',
  'none',
  '-T',
  'none',
  '-U',
  'none',
  '--no-map-gw',
  '--',
]

/** A command line within such a network. It is not started where one of the rules could not be made. */
export const withinNetwork = (nameservers: readonly string[], line: readonly string[]): string[] => [
  ...PASTA,
  'sh',
  '-c',
  `set -e\n${shutScript(nameservers)}exec "$@"`,
  'sh',
  ...line,
]
