import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { promisify } from 'node:util'
import { refuse } from '#core/errors.ts'
import { forAnother, forLogin } from '../../environment.ts'

const run = promisify(execFile)

export interface Launch {
  argv: string[]
  cwd: string
  env: Record<string, string>
  /** The account that owns the terminal. Null: the daemon's own. */
  owner: { uid: number; gid: number } | null
}

export const MARK = 'UK_RUN_ID'

interface LaunchRequest {
  argv: string[] | null
  cwd: string | null
  env: Record<string, string>
  user: string | null
}

interface Account {
  name: string
  uid: number
  gid: number
  home: string
  shell: string
}

/** Builds the environment of the daemon's own account. In a sandbox, the variables its image defines. */
export type Gives = (environment: NodeJS.ProcessEnv) => Record<string, string>

/** Resolves a program, or without `argv` the user's shell. Rejects unavailable users and folders. */
export async function launch(
  { argv, cwd, env, user }: LaunchRequest,
  mark: string,
  gives: Gives = forLogin,
): Promise<Launch> {
  const self = own()
  const other = user === null || user === self.name ? null : await accountOf(user)
  if (other && self.uid !== 0)
    refuse('not_supported', {
      message: `The daemon runs as ${self.name}, not as root, so commands can run only as ${self.name}.`,
      param: 'user',
    })
  const account = other ?? self
  const folder = cwd ?? account.home
  if (!isFolder(folder)) {
    if (cwd !== null) refuse('invalid_parameter', { message: `The folder ${cwd} doesn’t exist.`, param: 'cwd' })
    return launch({ argv, cwd: '/', env, user }, mark, gives)
  }
  const command = argv ?? [account.shell, '-l']
  // Uses an absolute path, never the caller's PATH, since it runs as root.
  const prefix = other ? [setpriv(), `--reuid=${other.uid}`, `--regid=${other.gid}`, '--init-groups', '--'] : []
  return {
    argv: [...prefix, ...command],
    cwd: folder,
    env: { ...environment(account, other ? forAnother : gives), ...env, [MARK]: mark },
    owner: other,
  }
}

function setpriv(): string {
  const program = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path))
  return (
    program ?? refuse('not_supported', { message: 'The computer has no `setpriv`, so commands can run only as root.' })
  )
}

function own(): Account {
  const { username, uid, gid, homedir: home, shell } = userInfo()
  return { name: username, uid, gid, home: homedir() || home, shell: process.env['SHELL'] || shell || '/bin/sh' }
}

async function accountOf(name: string): Promise<Account> {
  const unknown = (): never =>
    refuse('invalid_parameter', { message: `The user ${name} doesn’t exist on this computer.`, param: 'user' })
  if (!/^[a-z_][a-z0-9_.-]{0,31}\$?$/i.test(name)) unknown()
  const { stdout } = await run('getent', ['passwd', '--', name]).catch(unknown)
  const [found = '', , uid, gid, , home = '/', shell] = stdout.trim().split(':')
  if (found !== name) unknown()
  return { name, uid: Number(uid), gid: Number(gid), home, shell: shell || '/bin/sh' }
}

/** A log-in environment, as sshd sets it. */
const environment = ({ name, home, shell }: Account, gives: Gives): Record<string, string> => ({
  PATH: USUAL_PATH,
  ...gives(process.env),
  HOME: home,
  USER: name,
  LOGNAME: name,
  SHELL: shell,
})

const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
