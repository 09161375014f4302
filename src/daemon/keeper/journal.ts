import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** A write-ahead log of one JSON object per line. A line cut off by a crash is skipped. */
export class Journal<Fact extends object> {
  readonly #path: string
  #descriptor = -1

  constructor(path: string) {
    this.#path = path
  }

  read(): Fact[] {
    let text: string
    try {
      text = readFileSync(this.#path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
    return text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as Fact]
      } catch {
        return []
      }
    })
  }

  rewrite(facts: readonly Fact[]): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    const next = `${this.#path}.next`
    const descriptor = openSync(next, 'w', 0o600)
    writeSync(descriptor, facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
    fsyncSync(descriptor)
    renameSync(next, this.#path)
    if (this.#descriptor >= 0) closeSync(this.#descriptor)
    this.#descriptor = descriptor
  }

  add(fact: Fact): void {
    writeSync(this.#descriptor, `${JSON.stringify(fact)}\n`)
  }
}
