import type { Draft } from '../thread/thread.ts'

type Media = Extract<Exclude<Draft['content'], string>[number], { type: 'image' | 'file' }>
export type Source = Media['source']

/** The most bytes of a file: a message takes 1 MiB, in which files grow by a third. */
const MOST_BYTES = 700_000

/** A file as it stands within its message: nothing of it lies in the drive, where others would find it. */
export async function inlineSource(file: File): Promise<Source> {
  if (file.size > MOST_BYTES)
    throw new Error('700 KB at most: in a temporary chat files go within the message, not into the drive.')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve(reader.result as string), { once: true })
  reader.addEventListener('error', () => reject(new Error('The file cannot be read.')), { once: true })
  reader.readAsDataURL(file)
  const address = await promise
  const type = file.type.split(';')[0]!
  return {
    kind: 'base64',
    media_type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream',
    data: address.slice(address.indexOf(',') + 1),
  }
}
