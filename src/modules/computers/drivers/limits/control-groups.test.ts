import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openControlGroups } from './control-groups.ts'
import type { GroupFiles } from './groups.ts'

const CGROUP2 = 0x63677270
const TMPFS = 0x01021994
const fault = (code: string): never => {
  throw Object.assign(new Error(code), { code })
}

interface KernelOptions {
  /** The server's group: the path in `/proc/self/cgroup`. */
  own: string
  /** The subtree that the account can write to. */
  mine: string
  controllers?: string
}

/** Simulates cgroup v2 as far as limits need it: https://docs.kernel.org/admin-guide/cgroup-v2.html */
function kernelOf({ own, mine, controllers = 'cpuset cpu io memory pids' }: KernelOptions) {
  const at = (path: string) => join('/sys/fs/cgroup', path).replace(/\/$/, '')
  const groups = new Map<string, { enabled: Set<string>; pids: Set<string>; values: Map<string, string> }>()
  const make = (folder: string) => {
    const group = { enabled: new Set<string>(), pids: new Set<string>(), values: new Map<string, string>() }
    groups.set(folder, group)
    return group
  }
  const root = make(at('/'))
  for (const name of controllers.split(' ')) root.enabled.add(name)
  for (let path = '', [...parts] = own.split('/').filter(Boolean); parts.length > 0;) {
    path = join(path, parts.shift()!)
    make(at(path)).enabled = new Set(controllers.split(' '))
  }
  const start = groups.get(at(own))!
  if (own !== '/' || mine === '/') start.enabled = new Set()
  start.pids.add('100').add('101')
  const group = (folder: string) => groups.get(folder) ?? fault('ENOENT')
  const mayWrite = (folder: string) => folder.startsWith(at(mine)) || fault('EACCES')
  const offered = (folder: string) =>
    folder === at('/') ? new Set(controllers.split(' ')) : (groups.get(dirname(folder)) ?? fault('ENOENT')).enabled
  const files: GroupFiles = {
    read(file) {
      if (file === '/proc/self/cgroup') return `0::${own}\n`
      const { pids } = group(dirname(file))
      if (file.endsWith('cgroup.controllers')) return `${[...offered(dirname(file))].join(' ')}\n`
      return file.endsWith('cgroup.procs') ? [...pids, ''].join('\n') : fault('ENOENT')
    },
    write(file, text) {
      const folder = dirname(file)
      const to = group(folder)
      mayWrite(folder)
      if (file.endsWith('cgroup.procs')) {
        if (to.enabled.size > 0 && folder !== at('/')) fault('EBUSY')
        for (const each of groups.values()) each.pids.delete(text)
        to.pids.add(text)
      } else if (file.endsWith('cgroup.subtree_control')) {
        // The "no internal processes" rule, which exempts only the real root.
        if (to.pids.size > 0 && !(folder === at('/') && own !== '/')) fault('EBUSY')
        for (const word of text.split(' ')) {
          if (!offered(folder).has(word.slice(1))) fault('ENOENT')
          to.enabled.add(word.slice(1))
        }
      } else {
        const name = file.slice(folder.length + 1)
        if (!offered(folder).has(name.split('.')[0]!)) fault('ENOENT')
        to.values.set(name, text)
      }
    },
    list: (folder) => [...group(folder).values.keys(), 'memory.swap.max'],
    make(folder) {
      if (groups.has(folder)) return
      mayWrite(dirname(folder))
      make(folder)
    },
    remove(folder) {
      if (group(folder).pids.size > 0) fault('EBUSY')
      groups.delete(folder)
    },
    kind: (folder) => (groups.has(folder) ? CGROUP2 : TMPFS),
  }
  return { files, groups, at }
}

const box = { id: 'box', cpu: 1.5, memoryMb: 64, processes: 20 }
const limits = [
  ['memory.max', '67108864'],
  ['memory.swap.max', '0'],
  ['pids.max', '20'],
  ['cpu.max', '150000 100000'],
]

test('as root, groups are created next to system services and no process moves', () => {
  const { files, groups, at } = kernelOf({ own: '/system.slice/ukiyo.service', mine: '/' })
  assert.deepEqual(openControlGroups(files)!.make(box), [at('ukiyo/box/cgroup.procs')])
  assert.deepEqual([...groups.get(at('ukiyo/box'))!.values], limits)
  assert.deepEqual([...groups.get(at('system.slice/ukiyo.service'))!.pids], ['100', '101'])
})

for (const [what, own] of [
  ['a service with a delegated group', '/system.slice/ukiyo.service'],
  ['a user’s service', '/user.slice/user-1000.slice/user@1000.service/app.slice/ukiyo.service'],
  ['a container with writable groups', '/'],
])
  test(`${what} gets limits in subgroups, and the server moves to its own`, () => {
    const { files, groups, at } = kernelOf({ own: own!, mine: own! })
    const controlGroups = openControlGroups(files)!
    const [procs] = controlGroups.make(box)
    assert.equal(procs, at(`${own}/ukiyo/box/cgroup.procs`))
    assert.deepEqual([...groups.get(dirname(procs))!.values], limits)
    assert.deepEqual([...groups.get(at(`${own}/ukiyo-server`))!.pids], ['100', '101'])
    files.write(procs, '102')
    controlGroups.remove('box')
    assert.ok(groups.has(dirname(procs)), 'it is kept while a process is in it')
    // A later server process starts in the first one's group.
    const later = kernelOf({ own: own!, mine: own! })
    const readFile = later.files.read
    openControlGroups(later.files)
    later.files.read = (file) => (file === '/proc/self/cgroup' ? `0::${join(own!, 'ukiyo-server')}\n` : readFile(file))
    assert.deepEqual(openControlGroups(later.files)!.make(box), [later.at(`${own}/ukiyo/box/cgroup.procs`)])
  })

test('without an exclusive group with all controllers, nothing is limited or moved', () => {
  const scope = '/user.slice/user-1000.slice/user@1000.service/app.slice/app-terminal.scope'
  const login = kernelOf({ own: scope, mine: scope })
  assert.equal(openControlGroups(login.files), null)
  assert.deepEqual([...login.groups.get(login.at(scope))!.pids], ['100', '101'])
  const own = '/system.slice/ukiyo.service'
  const bare = kernelOf({ own, mine: own, controllers: 'hugetlb' })
  assert.equal(openControlGroups(bare.files), null)
  assert.deepEqual([...bare.groups.get(bare.at(own))!.pids], ['100', '101'])
  assert.equal(openControlGroups(kernelOf({ own, mine: '/none' }).files), null)
})
