import type { Readable, Writable } from 'node:stream'

/** The program may stop reading early, as `tar` does after its last block. The exit code reports success. */
export function feed(from: Readable, input: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    input
      .on('error', () => {})
      .once('close', () => {
        from.unpipe(input)
        from.resume()
      })
    from
      .once('end', resolve)
      .once('error', reject)
      .once('close', () => reject(new Error('what was to be unpacked broke off')))
      .pipe(input)
  })
}
