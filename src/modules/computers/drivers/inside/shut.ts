/**
 * The addresses that a computer with the internet never reaches. The rules are policies of the kernel's IPsec, which
 * need no further program than `ip` and hold however a socket is bound; a program inside has no right to change them.
 */
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/**
 * The ranges that are never reached: private ones, those of one link, of the machine itself, and the metadata of
 * clouds.
 */
const SHUT = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  // Azure's wire server, which has a public address: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '64:ff9b::/96',
  '2002::/16',
]

/** The numbers of the protocols: where the script runs nothing may know their names. */
const UDP = 17
const TCP = 6

const alone = (address: string): string => `${address}/${isIPv6(address) ? 128 : 32}`
const policy = (to: string, priority: number, action: 'allow' | 'block', more = ''): string =>
  `xfrm policy add src ${to.includes(':') ? '::/0' : '0.0.0.0/0'} dst ${to} ${more} dir out priority ${priority} action ${action}`

/**
 * A script for `sh -e` that shuts everything in the network that it runs in, but to ask these name servers.
 * `ip`: how that program is called there. `also`: further addresses.
 */
export const shutScript = (nameservers: readonly string[], ip = 'ip', also: readonly string[] = []): string => {
  const rules = [
    ...nameservers.flatMap((address) =>
      [UDP, TCP].map((proto) => policy(alone(address), 100, 'allow', `proto ${proto} dport 53`)),
    ),
    ...[...SHUT, ...also.map(alone)].map((range) => policy(range, 200, 'block')),
  ]
  return `${ip} -batch - <<'RULES'\n${rules.join('\n')}\nRULES\n`
}

/** The addresses of this host, of whatever range: behind a bridge they lead to what listens on it. */
export const addressesOfHost = (): string[] =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))

/**
 * A script that checks the rules: the kernel refuses the very look-up of a way there: 3 where it knows one, 4 where
 * nothing leads anywhere.
 */
export const checkScript = (ip = 'ip'): string => `policies=$(${ip} xfrm policy)
case $policies in *'dst 169.254.0.0/16'*'action block'*) ;; *) exit 3 ;; esac
test -n "$(${ip} -o route show default)" || { echo 'the host has no way out' >&2; exit 4; }
`
