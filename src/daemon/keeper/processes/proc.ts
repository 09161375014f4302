import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { constants } from 'node:os'

export interface Stat {
  pid: number
  state: string
  parent: number
  group: number
  session: number
  /** The controlling terminal, or 0. */
  terminal: number
  /** Start time in ticks since boot. Tells apart processes that reuse a pid. */
  started: string
  /** The `waitpid` status, valid in state Z. */
  status: number
}

export function statOf(pid: number | string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The fields start after the name in brackets, which may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent, group, session, terminal] = fields
    return {
      pid: Number(pid),
      state,
      parent: Number(parent),
      group: Number(group),
      session: Number(session),
      terminal: Number(terminal),
      started: fields[19] ?? '',
      status: Number(fields[49] ?? 0),
    }
  } catch {
    return null
  }
}

export function livingProcesses(first = 0): Stat[] {
  return readdirSync('/proc')
    .filter((name) => Number(name) >= Math.max(1, first))
    .map(statOf)
    .filter((stat) => stat !== null)
    .filter(({ state }) => state !== 'Z' && state !== 'X')
}

export function lastPid(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ')[4] ?? 0)
  } catch {
    return 0
  }
}

export const isAlive = (pid: number, started: string): boolean => {
  const stat = statOf(pid)
  return stat !== null && stat.started === started && stat.state !== 'Z' && stat.state !== 'X'
}

export function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

export function openedBy(pid: number, descriptor: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`)
  } catch {
    return ''
  }
}

const names = Object.entries(constants.signals).reduce(
  (map, [name, number]) => (map.has(number) ? map : map.set(number, name)),
  new Map<number, string>(),
)

export interface Ending {
  exit_code: number | null
  signal: string | null
}

export function endingOf(status: number): Ending {
  const signal = status & 0x7f
  return signal === 0
    ? { exit_code: (status >> 8) & 0xff, signal: null }
    : { exit_code: null, signal: names.get(signal) ?? `SIG${signal}` }
}
