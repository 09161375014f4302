/** Internet access for a sandbox: its own network namespace, connected by `pasta`, without the host's loopback. */
import { shutScript } from '../inside/shut.ts'

/** Disables `pasta`'s defaults, which forward host ports and map the gateway address to the host's loopback. */
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

/** Runs a command line in such a network. It doesn't start unless every rule was created. */
export const withinNetwork = (nameservers: readonly string[], line: readonly string[]): string[] => [
  ...PASTA,
  'sh',
  '-c',
  `set -e\n${shutScript(nameservers)}exec "$@"`,
  'sh',
  ...line,
]
