/** A network namespace connected by `pasta`, without the host's loopback. */
import { shutScript } from '../inside/shut.ts'

/** By default, `pasta` forwards host ports and maps the gateway to the host's loopback. */
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

/** The command doesn't start unless every rule was created. */
export const withinNetwork = (nameservers: readonly string[], line: readonly string[]): string[] => [
  ...PASTA,
  'sh',
  '-c',
  `set -e\n${shutScript(nameservers)}exec "$@"`,
  'sh',
  ...line,
]
