import { basename, join } from 'node:path'
import { type ControlGroups, type GroupFiles, MOUNT, PERIOD_US, removeGroup } from './groups.ts'

const CGROUP2 = 0x63677270
const CONTROLLERS = ['memory', 'pids', 'cpu']
/** The group that the server itself goes to: a group that has processes of its own cannot limit groups below it. */
const SERVER = 'ukiyo-server'

/**
 * The places to try: as root of the whole system beside its services, else below what this server was delegated. Each
 * throws where it has no right to.
 */
export const version2 = [
  (files: GroupFiles): ControlGroups => below(files, MOUNT),
  (files: GroupFiles): ControlGroups => below(files, withoutServer(files, delegated(files))),
]

/**
 * The group that was given to this server alone: a service of systemd's with `Delegate=yes`, or the whole of a container. In
 * a login's scope there are programs of somebody else, which are not moved.
 */
function delegated(files: GroupFiles): string {
  const own = /^0::(\/.*)$/m.exec(files.read('/proc/self/cgroup'))?.[1]
  if (own === undefined) throw new Error('this process is in no group of version 2')
  const path = basename(own) === SERVER ? join(own, '..') : own
  if (path !== '/' && !path.endsWith('.service')) throw new Error('this group is not of this server alone')
  return path === '/' ? MOUNT : join(MOUNT, path)
}

/** Moves this server out of its group, into one below. Processes may come meanwhile: it is done until there is none. */
function withoutServer(files: GroupFiles, folder: string): string {
  const procs = join(folder, 'cgroup.procs')
  checkControllers(files, folder)
  for (let round = 0; ; round++) {
    const pids = files.read(procs).split('\n').filter(Boolean)
    if (pids.length === 0) return folder
    if (round === 10) throw new Error('processes go on coming')
    files.make(join(folder, SERVER))
    for (const pid of pids) {
      try {
        files.write(join(folder, SERVER, 'cgroup.procs'), pid)
      } catch (error) {
        // The process has just ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }
}

function checkControllers(files: GroupFiles, folder: string): void {
  if (files.kind(folder) !== CGROUP2) throw new Error('it is not of version 2')
  const there = files.read(join(folder, 'cgroup.controllers')).split(/\s+/)
  if (!CONTROLLERS.every((name) => there.includes(name))) throw new Error('it has not all controllers')
}

function below(files: GroupFiles, base: string): ControlGroups {
  const folder = join(base, 'ukiyo')
  const set = (id: string, file: string, value: string): void => files.write(join(folder, id, file), value)
  checkControllers(files, base)
  const all = CONTROLLERS.map((name) => `+${name}`).join(' ')
  files.write(join(base, 'cgroup.subtree_control'), all)
  files.make(folder)
  files.write(join(folder, 'cgroup.subtree_control'), all)
  return {
    make({ id, cpu, memoryMb, processes }) {
      files.make(join(folder, id))
      set(id, 'memory.max', memoryMb === null ? 'max' : String(memoryMb * 1_048_576))
      if (files.list(join(folder, id)).includes('memory.swap.max'))
        set(id, 'memory.swap.max', memoryMb === null ? 'max' : '0')
      set(id, 'pids.max', processes === null ? 'max' : String(processes))
      set(id, 'cpu.max', `${cpu === null ? 'max' : Math.floor(cpu * PERIOD_US)} ${PERIOD_US}`)
      return [join(folder, id, 'cgroup.procs')]
    },
    remove: (id) => removeGroup(files, join(folder, id)),
  }
}
