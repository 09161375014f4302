import { createReadStream, lstatSync, readdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Stop } from '../../exit.ts'
import { type ExportFiles, noFiles } from './files.ts'

const MAGIC = 'SQLite format 3\0'
const MAX_CHATS = 100_000

export async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => null)
  if (file === null) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0)
    return bytesRead === 16 && buffer.toString('latin1') === MAGIC
  } finally {
    await file.close()
  }
}

/** One user's chats from a `webui.db`, in the form of an export. With several users, `email` chooses one. */
export function chatsOfDatabase(path: string, email: string | undefined): unknown[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const people = database
      .prepare('select u.id, u.email, count(*) as chats from chat c join user u on u.id = c.user_id group by u.id')
      .all() as { id: string; email: string; chats: number }[]
    const user = email === undefined && people.length === 1 ? people[0] : people.find((one) => one.email === email)
    if (user === undefined)
      throw new Stop(
        'usage',
        email === undefined
          ? `${path} contains chats from ${people.length} users.`
          : `${path} contains no chats from ${email}.`,
        `Choose one with --user: ${people
          .map((one) => `${one.email} (${one.chats})`)
          .slice(0, 20)
          .join(', ')}`,
      )
    const rows = database
      .prepare('select id, title, chat, created_at from chat where user_id = ? limit ?')
      .all(user.id, MAX_CHATS) as { id: string; title: string; chat: string; created_at: number }[]
    return rows.map((row) => ({ ...row, chat: parsed(row.chat) }))
  } catch (error) {
    if (error instanceof Stop) throw error
    throw new Stop('usage', `${path} isn't a valid webui.db: ${(error as Error).message}.`)
  } finally {
    database.close()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * Files `{id}_{name}` in the `uploads` folder next to a `webui.db`, or in the given folder. Only plain files in it are
 * read, never paths from the database.
 */
export function uploadsBeside(path: string, given: string | undefined): ExportFiles {
  const folder = given ?? join(dirname(path), 'uploads')
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    if (given === undefined) return noFiles
    throw new Stop('usage', `Can't read ${folder}: ${(error as Error).message}.`)
  }
  const byId = new Map(names.map((name) => [/^([\w-]+?)_/.exec(name)?.[1] ?? name, name]))
  return {
    find(ref) {
      const name = byId.get(ref)
      const stats = name === undefined ? undefined : lstatSync(join(folder, name), { throwIfNoEntry: false })
      return name !== undefined && stats?.isFile() ? { name, size: stats.size } : null
    },
    read: async (ref) => createReadStream(join(folder, byId.get(ref)!)),
  }
}
