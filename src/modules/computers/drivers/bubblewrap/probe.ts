import { shorten } from '#core/text/shorten.ts'
import type { Probe } from '../driver.ts'
import type { Host } from '../host.ts'
import { nameserversOfHost } from '../inside/identity.ts'
import { checkScript } from '../inside/shut.ts'
import { run } from '../run.ts'
import { asAccount, toolLine } from './line.ts'
import { withinNetwork } from './network.ts'

/** The only image is the host's system, read-only. */
const IMAGE = 'host'

/** Tests everything that sandboxes need on this host. */
export async function probeHost(host: Host, filter: string): Promise<Probe> {
  const none = (reason: string): Probe => ({ available: false, reason, images: [], network: [], ...UNTESTED })
  if (process.platform !== 'linux') return none('bubblewrap sandboxes require Linux.')
  for (const name of ['bwrap', 'prlimit', 'flock', 'tar', 'setpriv']) {
    const { code } = await run([name, '--version'])
    if (code !== 0) return none(`The program \`${name}\` is missing. Install ${PACKAGES[name] ?? name}.`)
  }
  const account = host.accountOf(0n)
  const result = await run(
    asAccount(
      account,
      toolLine(filter, '/usr', ['sh', '-c', 'grep -c CapEff /proc/self/status; unshare -U true && echo nested'], false),
    ),
  )
  if (result.code === null || !result.stdout.startsWith('1')) return none(explain(result.stderr))
  if (result.stdout.includes('nested'))
    return none('bubblewrap is too old: sandboxes could create their own namespaces. Version 0.8 or newer is required.')
  const { reason, there } = await probeNetwork(account)
  return {
    available: true,
    reason,
    images: [IMAGE],
    network: there ? ['none', 'internet'] : ['none'],
    ...UNTESTED,
  }
}

/** Whether limits are enforced is tested later. */
const UNTESTED = { limitsEnforced: false, diskLimitsEnforced: false }

const PACKAGES: Record<string, string> = {
  bwrap: 'bubblewrap',
  prlimit: 'util-linux',
  flock: 'util-linux',
  setpriv: 'util-linux',
}

function explain(words: string): string {
  const reason = shorten(words.trim().split('\n').at(-1) ?? '', 300)
  if (/uid map: Permission denied|RTM_NEWADDR|Creating new namespace failed|No permissions to create/i.test(reason))
    return `The system doesn’t allow programs to create sandboxes (${reason}). On Ubuntu, load the AppArmor profile \`bwrap-userns-restrict\`. Elsewhere, set the sysctl \`kernel.unprivileged_userns_clone\` to 1.`
  return `A sandbox couldn’t be created: ${reason || 'bwrap gave no reason'}.`
}

/** Tests from inside a sandbox that the internet can be reached and private addresses can't. */
async function probeNetwork(
  account: ReturnType<Host['accountOf']>,
): Promise<{ there: boolean; reason: string | null }> {
  const no = (why: string) => ({ there: false, reason: `No internet: ${why}` })
  for (const name of ['pasta', 'ip']) {
    const { code } = await run([name, name === 'ip' ? '-V' : '--version'])
    if (code !== 0) return no(`the program \`${name}\` is missing. Install ${name === 'ip' ? 'iproute2' : 'passt'}.`)
  }
  if ((await run(asAccount(account, ['sh', '-c', ': <>/dev/net/tun']))).code !== 0)
    return no('sandboxes can’t open /dev/net/tun. Set its mode to 0666, as udev does.')
  const nameservers = nameserversOfHost()
  const { code, stderr } = await run(asAccount(account, withinNetwork(nameservers, ['sh', '-c', checkScript()])))
  if (code === 3) return no('a blocked private address could be reached.')
  if (code !== 0) return no(`${shorten(stderr.trim().split('\n').at(-1) ?? '', 200) || 'pasta did not start'}.`)
  return {
    there: true,
    reason: nameservers.length === 0 ? 'The host has no name server that sandboxes can reach.' : null,
  }
}

export function reasonOf({ available, reason }: Probe, hasLimits: boolean): string | null {
  if (!available) return reason
  const limits = hasLimits
    ? null
    : 'limits: unenforced: this server can’t create control groups (it isn’t root, and none were delegated to it, as with systemd’s `Delegate=yes`). The number of processes is limited, but CPU and memory aren’t.'
  return [reason, limits].filter(Boolean).join(' ') || null
}
