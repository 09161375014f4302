import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { freemem, homedir, hostname, loadavg, totalmem, uptime } from 'node:os'
import type { Output } from '#daemon-protocol/operations.ts'
import { shorten } from '#core/text/shorten.ts'

export const machine = () => ({ os: process.platform, arch: process.arch, hostname: shorten(hostname(), 255) })

let boot: string | null | undefined

/** Changes at each boot. Null where the system doesn't report it. */
export function bootId(): string | null {
  if (boot === undefined)
    try {
      boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    } catch {
      boot = null
    }
  return boot
}

export async function probe(): Promise<Output<'daemon.probe'>> {
  const home = homedir() || null
  const disk = home === null ? null : await statfs(home).catch(() => null)
  return {
    now: new Date().toISOString(),
    uptime_seconds: uptime(),
    load: loadavg()[0]!,
    memory_bytes: totalmem(),
    memory_free_bytes: freemem(),
    disk_bytes: disk && disk.blocks * disk.bsize,
    // `bavail`, because the blocks reserved for root aren't available to users.
    disk_free_bytes: disk && disk.bavail * disk.bsize,
    home,
  }
}
