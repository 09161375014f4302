import { join } from 'node:path'
import { type ControlGroups, type GroupFiles, MOUNT, PERIOD_US, removeGroup } from './groups.ts'

const CONTROLLERS = ['memory', 'pids', 'cpu'] as const

/** Throws if a controller's hierarchy is missing. */
export function version1(files: GroupFiles): ControlGroups {
  const of = (controller: string, id: string): string => join(MOUNT, controller, 'ukiyo', id)
  const set = (id: string, controller: string, file: string, value: number | null): void => {
    if (value !== null) files.write(join(of(controller, id), file), String(Math.floor(value)))
  }
  for (const controller of CONTROLLERS) files.read(join(MOUNT, controller, 'cgroup.procs'))
  return {
    make({ id, cpu, memoryMb, processes }) {
      for (const controller of CONTROLLERS) files.make(of(controller, id))
      const bytes = memoryMb === null ? null : memoryMb * 1_048_576
      set(id, 'memory', 'memory.limit_in_bytes', bytes ?? -1)
      set(id, 'pids', 'pids.max', processes)
      set(id, 'cpu', 'cpu.cfs_period_us', PERIOD_US)
      set(id, 'cpu', 'cpu.cfs_quota_us', cpu === null ? -1 : cpu * PERIOD_US)
      return CONTROLLERS.map((controller) => join(of(controller, id), 'cgroup.procs'))
    },
    remove: (id) => CONTROLLERS.forEach((controller) => removeGroup(files, of(controller, id))),
  }
}
