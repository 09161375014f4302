import { open } from 'node:fs/promises'
import { Stop } from './exit.ts'

export interface Sink extends AsyncDisposable {
  write(part: Uint8Array): Promise<void>
  written(): number
}

/** Truncates the file. */
export async function fileSink(file: string): Promise<Sink> {
  const handle = await open(file, 'w').catch((error: Error) => {
    throw new Stop('usage', `Can't write ${file}: ${error.message}.`)
  })
  let bytes = 0
  return {
    written: () => bytes,
    async write(part) {
      bytes += part.length
      await handle.writeFile(part)
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
}
