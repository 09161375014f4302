import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve as absolute } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { contracts } from '#modules/contracts.ts'
import type { SendCall } from '../../../client.ts'
import { Stop, codeOf } from '../../exit.ts'
import { hasTrueSize } from './true-size.ts'
import type { Globals } from '../../globals.ts'
import { type Terminal, clean } from '../../terminal.ts'

type Input = Record<string, unknown>

interface Entry {
  /** The given path, or a path below a given folder. */
  path: string
  kind: 'file' | 'folder' | 'pipe' | 'generated'
}

interface Sending {
  input: Input
  globals: Globals
  terminal: Terminal
  call: SendCall
  toDrive: boolean
  resolve(input: Input): Promise<Input>
  send(input: Input): Promise<number>
}

/** Sends each file, and everything in each folder, in a call of its own. Returns the exit code. */
export async function sendFiles({ input, globals, terminal, call, toDrive, resolve, send }: Sending): Promise<number> {
  const { file, recursive = false, ...fields } = input
  // Check all files before sending the first.
  const entries = await Promise.all(
    [file ?? []].flat().map((path) => entryAt(String(path), recursive === true, toDrive)),
  )
  if (entries.length === 0) return send(await resolve(fields))
  const [only] = entries
  const isOne = entries.length === 1 && only!.kind !== 'folder'
  if (!isOne && fields.name !== undefined)
    throw new Stop(
      'usage',
      '--name works only with a single file.',
      'Leave it out. Files and folders keep their names.',
    )
  if (!isOne && globals.output !== undefined)
    throw new Stop('usage', '--output works only with a single file.', 'Send the files one at a time.')
  if (toDrive && fields.name === undefined && entries.some(({ kind }) => kind === 'pipe'))
    throw new Stop('usage', 'Piped input needs a file name.', 'Add --name, such as --name notes.txt.')
  const place = await resolve(fields)
  if (isOne) return sendOne(only!, place, send)

  let count = 0
  let code = codeOf('ok')
  const sendAll = async (some: readonly Entry[], here: Input): Promise<void> => {
    for (const entry of some) {
      if (entry.kind === 'folder')
        await sendAll(await entriesIn(entry.path, terminal), {
          ...here,
          parent_id: await folderIn(here, entry.path, call),
        })
      else {
        code ||= await sendOne(entry, here, send).catch((error: unknown) => {
          terminal.err(clean(`Couldn't send ${entry.path}. Files sent so far: ${count}.`))
          throw error
        })
        count += 1
      }
    }
  }
  await sendAll(entries, place)
  return code
}

async function entryAt(path: string, recursive: boolean, toDrive: boolean): Promise<Entry> {
  if (path === '-') return { path, kind: 'pipe' }
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Stop(
          'usage',
          `${path} doesn't exist on this machine.`,
          toDrive ? 'To upload into a drive folder, add --parent-id with its path or ID.' : undefined,
        )
      : new Stop('usage', `Can't read ${path} (${error.code}).`)
  })
  if (!stats.isDirectory()) return { path, kind: stats.isFile() ? await fileKind(path) : 'pipe' }
  if (!toDrive) throw new Stop('usage', `${path} is a folder.`, 'Pass a file instead.')
  if (!recursive)
    throw new Stop('usage', `${path} is a folder.`, 'Add --recursive (-r) to upload it with everything in it.')
  return { path, kind: 'folder' }
}

/** An unreadable file fails when it's sent. */
const fileKind = async (path: string): Promise<'file' | 'generated'> =>
  (await hasTrueSize(path).catch(() => true)) ? 'file' : 'generated'

/** Lists a folder by name. Links to folders are skipped: they could form a cycle. */
async function entriesIn(folder: string, terminal: Terminal): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const entry of (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    const isFile =
      entry.isFile() || (entry.isSymbolicLink() && ((await stat(path).catch(() => null))?.isFile() ?? false))
    if (isFile || entry.isDirectory()) entries.push({ path, kind: isFile ? await fileKind(path) : 'folder' })
    else terminal.err(clean(`Skipped ${path}: not a file or folder.`))
  }
  return entries
}

/** The ID of the drive folder with that name, created if needed. */
async function folderIn({ workspace_id, parent_id }: Input, path: string, call: SendCall): Promise<string> {
  const { endpoints } = await contracts.drive()
  const place = parent_id === undefined ? { workspace_id } : { parent_id }
  // Resolves `.` and `..` to their names.
  const answer = await call(endpoints.create_folder, { ...place, name: basename(absolute(path)) })
  return (JSON.parse(await answer.text()) as { data: { id: string } }).data.id
}

async function sendOne({ path, kind }: Entry, place: Input, send: Sending['send']): Promise<number> {
  if (kind === 'file') return send({ ...place, file: path })
  // The upload needs a length, which pipes and generated files don't have.
  const folder = await mkdtemp(join(tmpdir(), 'uk-upload-'))
  try {
    const file = join(folder, kind === 'generated' ? basename(path) : 'content')
    await pipeline(path === '-' ? process.stdin : createReadStream(path), createWriteStream(file, { mode: 0o600 }))
    return await send({ ...place, file })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
