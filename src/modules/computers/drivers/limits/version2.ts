import { basename, join } from 'node:path'
import { type ControlGroups, type GroupFiles, MOUNT, PERIOD_US, removeGroup } from './groups.ts'

const CGROUP2 = 0x63677270
const CONTROLLERS = ['memory', 'pids', 'cpu']
/** A group with processes can't limit its subgroups, so the server moves to its own. */
const SERVER = 'ukiyo-server'

/** Each throws without permission. */
export const version2 = [
  (files: GroupFiles): ControlGroups => below(files, MOUNT),
  (files: GroupFiles): ControlGroups => below(files, withoutServer(files, delegated(files))),
]

/**
 * A systemd service with `Delegate=yes`, or a whole container. Login scopes contain unrelated programs, which aren't
 * moved.
 */
function delegated(files: GroupFiles): string {
  const own = /^0::(\/.*)$/m.exec(files.read('/proc/self/cgroup'))?.[1]
  if (own === undefined) throw new Error('this process is in no group of version 2')
  const path = basename(own) === SERVER ? join(own, '..') : own
  if (path !== '/' && !path.endsWith('.service')) throw new Error('this group is not of this server alone')
  return path === '/' ? MOUNT : join(MOUNT, path)
}

/** Repeats, because new processes may appear. */
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
        // The process exited.
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
