/**
 * Blocked by IPsec policies: they need only `ip`, apply however a socket is bound, and programs inside can't change
 * them.
 */
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Private, link-local and loopback ranges, and cloud metadata. */
const BLOCKED_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  // Azure's wire server, a public address:
  // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
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

/** Names may be unknown where the script runs. */
const UDP = 17
const TCP = 6

const alone = (address: string): string => `${address}/${isIPv6(address) ? 128 : 32}`
const policy = (to: string, priority: number, action: 'allow' | 'block', more = ''): string =>
  `xfrm policy add src ${to.includes(':') ? '::/0' : '0.0.0.0/0'} dst ${to} ${more} dir out priority ${priority} action ${action}`

/** For `sh -e`. DNS to `nameservers` stays open. `also`: further addresses. */
export const shutScript = (nameservers: readonly string[], ip = 'ip', also: readonly string[] = []): string => {
  const rules = [
    ...nameservers.flatMap((address) =>
      [UDP, TCP].map((proto) => policy(alone(address), 100, 'allow', `proto ${proto} dport 53`)),
    ),
    ...[...BLOCKED_RANGES, ...also.map(alone)].map((range) => policy(range, 200, 'block')),
  ]
  return `${ip} -batch - <<'RULES'\n${rules.join('\n')}\nRULES\n`
}

/** Behind a bridge, these reach services on the host. */
export const addressesOfHost = (): string[] =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))

/** Exits with 3 if rules are missing and 4 without a default route. */
export const checkScript = (ip = 'ip'): string => `policies=$(${ip} xfrm policy)
case $policies in *'dst 169.254.0.0/16'*'action block'*) ;; *) exit 3 ;; esac
test -n "$(${ip} -o route show default)" || { echo 'the host has no way out' >&2; exit 4; }
`
