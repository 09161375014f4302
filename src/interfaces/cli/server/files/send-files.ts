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
  /** As it was given, or below the folder that was. */
  path: string
  kind: 'file' | 'folder' | 'pipe' | 'generated'
}

interface Sending {
  input: Input
  globals: Globals
  terminal: Terminal
  call: SendCall
  /** The files are kept in the drive, under a name and in a folder. */
  toDrive: boolean
  /** The input with ids in place of names. */
  resolve(input: Input): Promise<Input>
  /** Makes one call, with one file, and prints its answer. */
  send(input: Input): Promise<number>
}

/** Sends each of the files that a command names in a call of its own; of a folder, everything in it. Returns the exit code. */
export async function sendFiles({ input, globals, terminal, call, toDrive, resolve, send }: Sending): Promise<number> {
  const { file, recursive = false, ...fields } = input
  // All of them are looked at before the first is sent.
  const entries = await Promise.all(
    [file ?? []].flat().map((path) => entryAt(String(path), recursive === true, toDrive)),
  )
  if (entries.length === 0) return send(await resolve(fields))
  const [only] = entries
  const isOne = entries.length === 1 && only!.kind !== 'folder'
  if (!isOne && fields.name !== undefined)
    throw new Stop('usage', '--name is for a single file.', 'Leave it out: files and folders keep their names.')
  if (!isOne && globals.output !== undefined)
    throw new Stop('usage', '--output is for a single file.', 'Send the files one by one.')
  if (toDrive && fields.name === undefined && entries.some(({ kind }) => kind === 'pipe'))
    throw new Stop('usage', 'A file from a pipe has no name.', 'Add --name, such as --name notes.txt.')
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
          terminal.err(clean(`${entry.path} was not sent. Sent before it: ${count}.`))
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
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? new Stop(
          'usage',
          `${path} doesn't exist on this machine.`,
          toDrive ? 'To choose a folder of the drive, add --parent-id with its path or ID.' : undefined,
        )
      : new Stop('usage', `${path} can't be read (${error.code}).`)
  })
  if (!found.isDirectory()) return { path, kind: found.isFile() ? await fileKind(path) : 'pipe' }
  if (!toDrive) throw new Stop('usage', `${path} is a folder.`, 'Name a file.')
  if (!recursive) throw new Stop('usage', `${path} is a folder.`, 'Add --recursive to upload it with everything in it.')
  return { path, kind: 'folder' }
}

/** An unreadable file is refused when its turn comes. */
const fileKind = async (path: string): Promise<'file' | 'generated'> =>
  (await hasTrueSize(path).catch(() => true)) ? 'file' : 'generated'

/** The files and folders in a folder, by name. Links to folders could lead in circles, so they are skipped. */
async function entriesIn(folder: string, terminal: Terminal): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const found of (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, found.name)
    const isFile =
      found.isFile() || (found.isSymbolicLink() && ((await stat(path).catch(() => null))?.isFile() ?? false))
    if (isFile || found.isDirectory()) entries.push({ path, kind: isFile ? await fileKind(path) : 'folder' })
    else terminal.err(clean(`Skipped ${path}: it is neither a file nor a folder.`))
  }
  return entries
}

/** The ID of the folder of that name in the drive; it is created if there is none. */
async function folderIn({ workspace_id, parent_id }: Input, path: string, call: SendCall): Promise<string> {
  const { endpoints } = await contracts.drive()
  const place = parent_id === undefined ? { workspace_id } : { parent_id }
  // `.` and `..` have a name too.
  const answer = await call(endpoints.create_folder, { ...place, name: basename(absolute(path)) })
  return (JSON.parse(await answer.text()) as { data: { id: string } }).data.id
}

async function sendOne({ path, kind }: Entry, place: Input, send: Sending['send']): Promise<number> {
  if (kind === 'file') return send({ ...place, file: path })
  // A call needs the length, which a pipe and a generated file don't tell.
  const folder = await mkdtemp(join(tmpdir(), 'uk-upload-'))
  try {
    const file = join(folder, kind === 'generated' ? basename(path) : 'content')
    await pipeline(path === '-' ? process.stdin : createReadStream(path), createWriteStream(file, { mode: 0o600 }))
    return await send({ ...place, file })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
