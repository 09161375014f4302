/**
 * Manages people's operating system accounts with Debian's `passwd` programs: useradd(8), usermod(8), userdel(8).
 * Passwords are never set or accepted, and system accounts can't be changed.
 */
import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import type { z } from 'zod'
import { type Code, refuse } from '#core/errors.ts'
import type { Input, MachineUser as UserSchema, Output } from '#daemon-protocol/operations.ts'
import { partOf } from './part.ts'

type MachineUser = z.infer<typeof UserSchema>

/** UIDs of people on Debian, Ubuntu, Fedora and Arch: `UID_MIN` and `UID_MAX` of login.defs(5). */
const FIRST_UID = 1_000
const LAST_UID = 59_999

interface CommandResult {
  code: number
  stdout: string
  stderr: string
}
const run = (program: string, args: readonly string[]): Promise<CommandResult> =>
  new Promise((resolve) =>
    execFile(
      program,
      args,
      { timeout: 30_000, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, stdout, stderr: stderr.trim() || (error?.message ?? '') })
      },
    ),
  )

export async function listUsers({ from }: Input<'users.list'>): Promise<Output<'users.list'>> {
  const { rows: users, next } = partOf(await allUsers(), from)
  return { users, next }
}

async function allUsers(): Promise<MachineUser[]> {
  if (process.platform !== 'linux') return unsupported('Users can be managed only on Linux.')
  const [people, groups] = await Promise.all([run('getent', ['passwd']), run('getent', ['group'])])
  const groupOf = new Map<string, string>()
  const memberOf = new Map<string, string[]>()
  for (const line of groups.stdout.split('\n')) {
    const [name, , gid, members] = line.split(':')
    if (!name || gid === undefined) continue
    groupOf.set(gid, name)
    for (const member of (members ?? '').split(',').filter(Boolean))
      memberOf.set(member, [...(memberOf.get(member) ?? []), name])
  }
  const users = people.stdout.split('\n').flatMap((line): MachineUser[] => {
    const [username, , id, gid, , home, shell] = line.split(':')
    const uid = Number(id)
    if (!username || !(uid >= FIRST_UID && uid <= LAST_UID)) return []
    const first = groupOf.get(gid ?? '')
    const own = [...(first === undefined ? [] : [first]), ...(memberOf.get(username) ?? [])]
    return [{ username, uid, home: home ?? '', shell: shell ?? '', groups: [...new Set(own)] }]
  })
  return users.toSorted((a, b) => a.uid - b.uid)
}

export async function createUser({ username, shell, groups }: Input<'users.create'>): Promise<MachineUser> {
  checkMayChange()
  checkName(username, 'username')
  checkGroups(groups)
  const result = await run('useradd', [
    '-m',
    ...(shell === null ? ['-s', '/bin/bash'] : ['-s', checkShell(shell)]),
    ...(groups.length === 0 ? [] : ['-G', groups.join(',')]),
    '--',
    username,
  ])
  if (result.code !== 0) refuseDone(result, { 3: 'invalid_parameter', 6: 'invalid_parameter', 9: 'already_exists' })
  return findUser(username)
}

export async function updateUser({ username, shell, groups }: Input<'users.update'>): Promise<MachineUser> {
  checkMayChange()
  await checkPerson(username)
  if (groups !== null) checkGroups(groups)
  const args = [
    ...(shell === null ? [] : ['-s', checkShell(shell)]),
    ...(groups === null ? [] : ['-G', groups.join(',')]),
  ]
  if (args.length > 0) {
    const result = await run('usermod', [...args, '--', username])
    if (result.code !== 0) refuseDone(result, { 3: 'invalid_parameter', 6: 'invalid_parameter', 8: 'invalid_state' })
  }
  return findUser(username)
}

export async function deleteUser({
  username,
  remove_home,
  force,
}: Input<'users.delete'>): Promise<Output<'users.delete'>> {
  checkMayChange()
  const { uid } = await checkPerson(username)
  const remove = () => run('userdel', [...(remove_home ? ['-r'] : []), '--', username])
  let result = await remove()
  // 8: a process of the user is running.
  if (result.code === 8 && force) {
    await run('pkill', ['-KILL', '-U', String(uid)])
    for (let tries = 0; result.code === 8 && tries < 20; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      result = await remove()
    }
  }
  if (result.code === 8)
    refuse('invalid_state', {
      message: 'The user has running processes. Set `force=true` to terminate them.',
      details: { reason: result.stderr },
    })
  // 12: the user was deleted, but its home folder couldn't be removed or didn't exist.
  if (result.code !== 0 && result.code !== 12) refuseDone(result, {})
  return {}
}

const unsupported = (reason: string): never => refuse('not_supported', { message: reason, details: { reason } })

function checkMayChange(): void {
  if (process.platform !== 'linux') unsupported('Users can be managed only on Linux.')
  if (process.getuid?.() !== 0)
    unsupported('The daemon doesn’t run as root, so it can’t manage users on this computer.')
}

function checkName(name: string, param: string): void {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(name))
    refuse('invalid_parameter', {
      param,
      message:
        'A user name must start with a lowercase letter or `_` and can have up to 32 lowercase letters, digits, `-` and `_`.',
    })
  if (['root', 'nobody', userInfo().username].includes(name))
    refuse('invalid_parameter', { param, message: `${name} is a system account.` })
}

function checkGroups(groups: readonly string[]): void {
  for (const [n, group] of groups.entries())
    if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(group))
      refuse('invalid_parameter', { param: `groups.${n}`, message: 'The group name isn’t valid.' })
}

function checkShell(shell: string): string {
  if (!/^\/[\w./+-]{1,255}$/.test(shell))
    refuse('invalid_parameter', { param: 'shell', message: '`shell` must be an absolute path, such as /bin/bash.' })
  return shell
}

async function checkPerson(username: string): Promise<MachineUser> {
  checkName(username, 'username')
  return findUser(username)
}

async function findUser(username: string): Promise<MachineUser> {
  const users = await allUsers()
  return (
    users.find((user) => user.username === username) ??
    refuse('not_found', { param: 'username', message: 'The user doesn’t exist on this computer.' })
  )
}

function refuseDone({ code, stderr }: CommandResult, codes: Record<number, Code>): never {
  return refuse(codes[code] ?? 'invalid_state', {
    // 6: a group doesn't exist. The user itself was checked before.
    ...(code === 6 && { param: 'groups' }),
    message: stderr || 'The system rejected the change.',
    details: { exit_code: code },
  })
}
