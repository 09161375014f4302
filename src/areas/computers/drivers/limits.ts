/** Limits of CPU, memory and processes by control groups, where this process may make them: as root, of version 1 or 2. */
import { mkdirSync, readFileSync, readdirSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Box } from './driver.ts'

const CGROUP2 = 0x63677270
const MOUNT = '/sys/fs/cgroup'

type Limits = Pick<Box, 'id' | 'cpu' | 'memoryMb' | 'processes'>

export interface ControlGroups {
  /** Makes those of a computer. Answers the files into which its first process writes itself. */
  make(limits: Limits): string[]
  remove(id: string): void
}

/** Null: none can be made here. On version 1 a `mkdir` in the wrong place succeeds and limits nothing: what is in there is looked at. */
export function openControlGroups(): ControlGroups | null {
  return probed(version2()) ?? probed(version1())
}

function probed(groups: ControlGroups | null): ControlGroups | null {
  if (groups === null) return null
  const id = `probe-${process.pid}`
  try {
    groups.make({ id, cpu: 1, memoryMb: 64, processes: 16 })
    return groups
  } catch {
    return null
  } finally {
    groups.remove(id)
  }
}

const PERIOD_US = 100_000
const remove = (folder: string): void => {
  try {
    rmdirSync(folder)
  } catch {
    // A process is in it still, or it was never made.
  }
}

function version1(): ControlGroups | null {
  const controllers = ['memory', 'pids', 'cpu'] as const
  const of = (controller: string, id: string): string => join(MOUNT, controller, 'ukiyo', id)
  const set = (id: string, controller: string, file: string, value: number | null): void => {
    if (value !== null) writeFileSync(join(of(controller, id), file), String(Math.floor(value)), { flag: 'r+' })
  }
  try {
    for (const controller of controllers) readFileSync(join(MOUNT, controller, 'cgroup.procs'))
  } catch {
    return null
  }
  return {
    make({ id, cpu, memoryMb, processes }) {
      for (const controller of controllers) mkdirSync(of(controller, id), { recursive: true })
      const bytes = memoryMb === null ? null : memoryMb * 1_048_576
      set(id, 'memory', 'memory.limit_in_bytes', bytes ?? -1)
      set(id, 'pids', 'pids.max', processes)
      set(id, 'cpu', 'cpu.cfs_period_us', PERIOD_US)
      set(id, 'cpu', 'cpu.cfs_quota_us', cpu === null ? -1 : cpu * PERIOD_US)
      return controllers.map((controller) => join(of(controller, id), 'cgroup.procs'))
    },
    remove: (id) => controllers.forEach((controller) => remove(of(controller, id))),
  }
}

function version2(): ControlGroups | null {
  const folder = join(MOUNT, 'ukiyo')
  const set = (id: string, file: string, value: string): void =>
    writeFileSync(join(folder, id, file), value, { flag: 'r+' })
  try {
    if (statfsSync(MOUNT).type !== CGROUP2) return null
    const there = readFileSync(join(MOUNT, 'cgroup.controllers'), 'utf8').split(/\s+/)
    if (!['memory', 'pids', 'cpu'].every((name) => there.includes(name))) return null
    writeFileSync(join(MOUNT, 'cgroup.subtree_control'), '+memory +pids +cpu')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'cgroup.subtree_control'), '+memory +pids +cpu')
  } catch {
    return null
  }
  return {
    make({ id, cpu, memoryMb, processes }) {
      mkdirSync(join(folder, id), { recursive: true })
      set(id, 'memory.max', memoryMb === null ? 'max' : String(memoryMb * 1_048_576))
      if (readdirSync(join(folder, id)).includes('memory.swap.max'))
        set(id, 'memory.swap.max', memoryMb === null ? 'max' : '0')
      set(id, 'pids.max', processes === null ? 'max' : String(processes))
      set(id, 'cpu.max', `${cpu === null ? 'max' : Math.floor(cpu * PERIOD_US)} ${PERIOD_US}`)
      return [join(folder, id, 'cgroup.procs')]
    },
    remove: (id) => remove(join(folder, id)),
  }
}
