import { readFileSync } from 'node:fs'

export const INSIDE = {
  home: '/home/user',
  state: '/run/ukiyo/state',
  sockets: '/run/ukiyo/link',
  program: '/opt/ukiyo',
} as const

export const identity = (
  hostname: string,
  nameservers: readonly string[],
  { uid, gid, shell }: { uid: number; gid: number; shell: string },
): Record<string, string> => ({
  passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:${uid}:${gid}::${INSIDE.home}:${shell}\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n`,
  group: `root:x:0:\nuser:x:${gid}:\nnogroup:x:65534:\n`,
  hosts: `127.0.0.1 localhost ${hostname}\n::1 localhost\n`,
  'resolv.conf': nameservers.map((address) => `nameserver ${address}\n`).join(''),
})

/** Leaves out loopback addresses, which another network can't reach. */
export function nameserversOfHost(): string[] {
  for (const file of ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']) {
    try {
      const addresses = [...readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm)].map(
        ([, address]) => address!,
      )
      const usable = addresses.filter((address) => !/^(127\.|::1$|fe80)/i.test(address))
      if (usable.length > 0) return usable
    } catch {}
  }
  return []
}

export const hostnameOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60) || 'computer'
