import { readFileSync } from 'node:fs'
import { freemem, homedir, hostname, loadavg, totalmem, uptime } from 'node:os'
import type { Output } from '#wire/operations.ts'

/** What a machine says of itself. */
export const machine = () => ({ os: process.platform, arch: process.arch, hostname: hostname().slice(0, 255) })

let boot: string | null | undefined

/** Another one at each start of the machine; null where the system does not say. */
export function bootId(): string | null {
  if (boot === undefined)
    try {
      boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    } catch {
      boot = null
    }
  return boot
}

export const probe = async (): Promise<Output<'daemon.probe'>> => ({
  now: new Date().toISOString(),
  uptime_seconds: uptime(),
  load: loadavg()[0]!,
  memory_bytes: totalmem(),
  memory_free_bytes: freemem(),
  home: homedir() || null,
})
