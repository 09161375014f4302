/** Stores each terminal's metadata and last screen on disk, readable after its keeper was killed. */
import { mkdirSync, readdirSync, readFileSync, unlinkSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Mark, TerminalLog } from './log.ts'
import { type Snapshot, Terminal, type TerminalRow } from './terminal.ts'

interface Shelved {
  row: TerminalRow
  marks: readonly Mark[]
  typed: [string, number][]
  at: number
  screen: string
  program: Program | null
}

interface Program {
  pid: number
  started: string
}

export class Shelf {
  readonly #folder: string
  readonly #writing = new Map<string, Promise<void>>()

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Returns ended terminals, and those of a killed keeper as `lost` with their program. */
  read(): { terminal: Terminal; program: Program | null }[] {
    return readdirSync(this.#folder).flatMap((name) => {
      if (!name.endsWith('.json')) return []
      try {
        const shelved = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Shelved
        return [{ terminal: unshelve(shelved), program: shelved.program }]
      } catch {
        return []
      }
    })
  }

  async write(terminal: Terminal, { at, bytes }: Snapshot): Promise<void> {
    const row = terminal.row()
    const id = row.terminal_id
    const shelved: Shelved = {
      row,
      marks: terminal.log.marks.slice(-1),
      typed: terminal.typed,
      at,
      screen: bytes.toString('base64'),
      program: programOf(terminal),
    }
    const last = this.#writing.get(id) ?? Promise.resolve()
    const path = this.#path(id)
    const next = last.then(async () => {
      await writeFile(`${path}.next`, JSON.stringify(shelved), { mode: 0o600 })
      await rename(`${path}.next`, path)
    })
    this.#writing.set(id, next)
    await next.finally(() => {
      if (this.#writing.get(id) === next) this.#writing.delete(id)
    })
  }

  async remove(id: string): Promise<void> {
    await this.#writing.get(id)?.catch(() => {})
    try {
      unlinkSync(this.#path(id))
    } catch {}
  }

  /** Hashed, because an ID may contain any character. */
  #path(id: string): string {
    return join(this.#folder, `${createHash('sha256').update(id).digest('hex').slice(0, 32)}.json`)
  }
}

function programOf({ live }: Terminal): Program | null {
  return live && { pid: live.pty.child.pid, started: live.pty.child.started }
}

function unshelve({ row, marks, typed, at, screen }: Shelved): Terminal {
  const { terminal_id, name, created_at, exit_code, signal } = row
  const last = { at, bytes: Buffer.from(screen, 'base64') }
  const facts = { terminal_id, name, created_at, typed }
  const [status, ended_at] =
    row.status === 'open' ? (['lost', new Date().toISOString()] as const) : ([row.status, row.ended_at!] as const)
  return Terminal.restore(facts, new TerminalLog(marks, at), last, { status, ended_at, exit_code, signal })
}
