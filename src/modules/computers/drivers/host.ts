import { createHash, randomUUID } from 'node:crypto'
import { chmodSync, chownSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface Host {
  /** Identifies the data dir. */
  id: string
  folder: string
  /** A folder mounted into every computer. */
  sockets: string
  /** Null: the server's own account, if it isn't root. */
  accountOf(number: bigint): { uid: number; gid: number } | null
}

/** A Unix socket path has up to 107 bytes; 40 are for the name. */
const LONGEST = 107 - 40

export function openHost(dataDir: string): Host {
  const root = process.getuid?.() === 0
  const beside = join(dataDir, 'computers')
  mkdirSync(beside, { recursive: true, mode: 0o711 })
  const id = idIn(beside)
  // Computers' accounts must be able to traverse the path.
  const folder = !root || canBePassed(beside) ? beside : join('/var/lib/ukiyo-computers', id)
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  chmodSync(folder, 0o711)
  return { id, folder, sockets: socketFolder(folder), accountOf: (number) => (root ? accountOf(number) : null) }
}

function idIn(folder: string): string {
  const file = join(folder, 'host')
  try {
    writeFileSync(file, randomUUID(), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const id = readFileSync(file, 'utf8').trim()
  // Another process is writing it.
  return id.length === 36 ? id : idIn(folder)
}

function canBePassed(folder: string): boolean {
  const above = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (above === folder || canBePassed(above))
}

function socketFolder(folder: string): string {
  const beside = join(folder, 'link')
  const short = join(tmpdir(), `ukiyo-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  const path = beside.length <= LONGEST ? beside : short
  mkdirSync(path, { recursive: true, mode: 0o711 })
  const { uid } = statSync(path)
  if (uid !== process.getuid?.()) throw new Error(`${path} belongs to somebody else`)
  chmodSync(path, 0o755)
  return path
}

/** UIDs far from users', or from 20,000 if fewer are available. */
const FIRST = 1_100_000_000
const MAX_ACCOUNTS = 500_000_000

/** One account per computer: code that escapes owns nothing of others. */
function accountOf(number: bigint): { uid: number; gid: number } {
  const last = lastAccount()
  const [first, most] = last >= FIRST + MAX_ACCOUNTS ? [FIRST, MAX_ACCOUNTS] : [20_000, Math.max(1, last - 20_000)]
  const uid = first + Number(number % BigInt(most))
  return { uid, gid: uid }
}

function lastAccount(): number {
  try {
    const lines = readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n')
    return Math.max(...lines.map((line) => line.trim().split(/\s+/).map(Number)).map(([at = 0, , n = 0]) => at + n - 1))
  } catch {
    return 2 ** 32 - 2
  }
}

export interface Place {
  folder: string
  home: string
  state: string
  etc: string
  account: { uid: number; gid: number } | null
}

export const placeOn = ({ folder, accountOf }: Host, { id, number }: { id: string; number: bigint }): Place => {
  const own = join(folder, id)
  const at = (name: string): string => join(own, name)
  return { folder: own, home: at('home'), state: at('state'), etc: at('etc'), account: accountOf(number) }
}

export async function makePlace(
  { folder, home, state, etc, account }: Place,
  clear: () => Promise<void>,
): Promise<void> {
  if (existsSync(home)) await clear()
  for (const each of [folder, home, state, etc]) makeFolderFor(each, account)
}

/** GNU tar: sorted, sparse, numeric owners. */
export const PACKING = [
  '--sparse',
  '--format=posix',
  '--numeric-owner',
  '--sort=name',
  '--warning=no-file-ignored',
  '-cf',
  '-',
  '.',
] as const

export function makeFolderFor(folder: string, account: { uid: number; gid: number } | null): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (account) chownSync(folder, account.uid, account.gid)
}

/**
 * The folder may belong to a computer's account, so the file is replaced without following links or blocking on pipes.
 */
export async function writeFileFor(
  file: string,
  text: string,
  account: { uid: number; gid: number } | null,
): Promise<void> {
  await rm(file, { recursive: true, force: true })
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  await using handle = await open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  await handle.writeFile(text)
  if (account) await handle.chown(account.uid, account.gid)
}
