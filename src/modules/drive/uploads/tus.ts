import { refuse } from '#core/errors.ts'

import { TUS } from '../contract-uploads.ts'

export const tusHeaders = { 'tus-resumable': TUS }

export function checkVersion(version: string | undefined): void {
  if (version !== TUS)
    refuse('precondition_failed', {
      param: 'Tus-Resumable',
      message: `Send \`Tus-Resumable: ${TUS}\`.`,
      headers: { ...tusHeaders, 'tus-version': TUS },
    })
}

/** `Upload-Metadata`: comma-separated pairs of a key and a base64 value. */
export function metadataIn(header: string | undefined): Map<string, string> {
  const pairs = (header ?? '').split(',').filter((pair) => pair.trim() !== '')
  return new Map(
    pairs.map((pair) => {
      const [key = '', value = ''] = pair.trim().split(/\s+/)
      return [key, Buffer.from(value, 'base64').toString('utf8')]
    }),
  )
}

/** `Upload-Checksum`: `sha1 <base64>`. */
export function checksumIn(header: string | undefined): { algorithm: string; digest: Buffer } | null {
  if (header === undefined) return null
  const [, algorithm, digest] = /^(sha1|sha256|md5) ([A-Za-z0-9+/]+=*)$/.exec(header.trim()) ?? []
  if (algorithm === undefined || digest === undefined)
    return refuse('invalid_parameter', {
      param: 'Upload-Checksum',
      message: '`Upload-Checksum` must be `sha1`, `sha256` or `md5`, a space, and the digest in base64.',
    })
  return { algorithm, digest: Buffer.from(digest, 'base64') }
}
