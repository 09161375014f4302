/**
 * Shifts a process's clock: load with `node --import 'clock.ts?file=FILE'`. The file has the offset in milliseconds and
 * may change at any time.
 */
import { readFileSync } from 'node:fs'

const file = new URL(import.meta.url).searchParams.get('file')
const True = Date

const ahead = (): number => {
  try {
    return file === null ? 0 : Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

class Wrong extends True {
  constructor(...args: [] | ConstructorParameters<typeof Date>) {
    if (args.length === 0) super(Wrong.now())
    else super(...args)
  }
  static override now(): number {
    return True.now() + ahead()
  }
}
globalThis.Date = Wrong as DateConstructor
