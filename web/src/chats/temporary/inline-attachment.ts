import type { Source } from '../../shared/conversation/written.ts'

/** The file size limit: a message can have 1 MiB, and base64 adds a third. */
const MAX_BYTES = 700_000

/** A file inside its message. Nothing is stored in the drive, where others could find it. */
export async function inlineSource(file: File): Promise<Source> {
  if (file.size > MAX_BYTES)
    throw new Error('Files in temporary chats can be up to 700 KB, because they are sent inside the message.')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve(reader.result as string), { once: true })
  reader.addEventListener('error', () => reject(new Error('The file can’t be read.')), { once: true })
  reader.readAsDataURL(file)
  const address = await promise
  const type = file.type.split(';')[0]!
  return {
    kind: 'base64',
    media_type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream',
    data: address.slice(address.indexOf(',') + 1),
  }
}
