import { open } from 'node:fs/promises'
import { Stop } from './exit.ts'

export interface Sink extends AsyncDisposable {
  write(part: Uint8Array): Promise<void>
  written(): number
}

/** A file that bytes go to; what it held is gone. */
export async function fileSink(file: string): Promise<Sink> {
  const handle = await open(file, 'w').catch((error: Error) => {
    throw new Stop('usage', `${file} cannot be written: ${error.message}.`)
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
