import { createHash } from 'node:crypto'

/** What makes a PDF open with a password only: the standard security handler, revision 2 (ISO 32000-1, 7.6.3). */
export interface PdfLock {
  /** Of the trailer. */
  trailer: string
  /** The stream of this object as it is kept (latin1). */
  locked: (object: number, stream: string) => string
}

const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')
const md5 = (...parts: Buffer[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest()

function rc4(key: Buffer, data: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, i) => i)
  const swap = (a: number, b: number): void => void ([state[a], state[b]] = [state[b]!, state[a]!])
  for (let i = 0, j = 0; i < 256; i++) swap(i, (j = (j + state[i]! + key[i % key.length]!) & 255))
  let [i, j] = [0, 0]
  return data.map((byte) => {
    swap((i = (i + 1) & 255), (j = (j + state[i]!) & 255))
    return byte ^ state[(state[i]! + state[j]!) & 255]!
  }) as Buffer
}

export function lockOf(password: string): PdfLock {
  const padded = Buffer.concat([Buffer.from(password, 'latin1'), PADDING]).subarray(0, 32)
  const id = Buffer.alloc(16, 7)
  const rights = Buffer.from([0xfc, 0xff, 0xff, 0xff])
  const owner = rc4(md5(padded).subarray(0, 5), padded)
  const key = md5(padded, owner, rights, id).subarray(0, 5)
  const hex = (bytes: Buffer): string => `<${bytes.toString('hex')}>`
  const [o, u, named] = [owner, rc4(key, PADDING), id].map(hex)
  return {
    trailer: ` /ID [${named} ${named}] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O ${o} /U ${u} >>`,
    locked(object, stream) {
      const of = md5(key, Buffer.from([object & 255, object >> 8, 0, 0, 0])).subarray(0, 10)
      return rc4(of, Buffer.from(stream, 'latin1')).toString('latin1')
    },
  }
}
