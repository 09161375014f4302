import { fromBufferPromise } from 'yauzl'

/** The entries of a ZIP by name, as text. */
export async function unzipped(bytes: Buffer): Promise<Record<string, string>> {
  const zip = await fromBufferPromise(bytes)
  const entries: Record<string, string> = {}
  for await (const entry of zip.eachEntry()) {
    const parts: Buffer[] = []
    if (!entry.fileName.endsWith('/'))
      for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer)
    entries[entry.fileName] = Buffer.concat(parts).toString()
  }
  return entries
}
