import type { Readable, Writable } from 'node:stream'

/**
 * Hands all of `from` to a program that may stop reading before its end, as `tar` does behind its last block: nobody
 * reads what it leaves. Its exit code says whether it took all that matters.
 */
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
