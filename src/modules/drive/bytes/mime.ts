import { extname } from 'node:path'
import { HEAD_BYTES } from '#infra/blobs/blobs.ts'
import { isText } from '#infra/text/charset/charset.ts'

const UNKNOWN = 'application/octet-stream'

/** Types by file extension, for formats that the first bytes don't identify, mainly text. */
const byEnding: Record<string, string> = {
  '.txt': 'text/plain',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
  '.csv': 'text/csv',
  '.tsv': 'text/tab-separated-values',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.cjs': 'text/javascript',
  '.jsx': 'text/javascript',
  '.ts': 'text/x-typescript',
  '.tsx': 'text/x-typescript',
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.ndjson': 'application/x-ndjson',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.toml': 'application/toml',
  '.ini': 'text/plain',
  '.sql': 'application/sql',
  '.sh': 'text/x-shellscript',
  '.py': 'text/x-python',
  '.rb': 'text/x-ruby',
  '.go': 'text/x-go',
  '.rs': 'text/x-rust',
  '.java': 'text/x-java',
  '.kt': 'text/x-kotlin',
  '.c': 'text/x-c',
  '.h': 'text/x-c',
  '.cpp': 'text/x-c++',
  '.hpp': 'text/x-c++',
  '.cs': 'text/x-csharp',
  '.php': 'text/x-php',
  '.swift': 'text/x-swift',
  '.tex': 'text/x-tex',
  '.ics': 'text/calendar',
  '.vcf': 'text/vcard',
  '.diff': 'text/x-diff',
  '.patch': 'text/x-diff',
  '.svg': 'image/svg+xml',
  '.pdf': 'application/pdf',
  '.doc': 'application/msword',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.xls': 'application/vnd.ms-excel',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.ppt': 'application/vnd.ms-powerpoint',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  '.odt': 'application/vnd.oasis.opendocument.text',
  '.ods': 'application/vnd.oasis.opendocument.spreadsheet',
  '.odp': 'application/vnd.oasis.opendocument.presentation',
  '.epub': 'application/epub+zip',
  '.rtf': 'application/rtf',
  '.zip': 'application/zip',
  '.gz': 'application/gzip',
  '.tar': 'application/x-tar',
  '.wasm': 'application/wasm',
  '.gguf': UNKNOWN,
}

/** Detects the type from the first bytes, else the extension, else the sender's claim, else whether it is text. */
export async function mimeTypeOf(head: Uint8Array, name: string, statedType: string | null): Promise<string> {
  const byName = byEnding[extname(name).toLowerCase()]
  const { fileTypeFromBuffer } = await import('file-type')
  const detected = await fileTypeFromBuffer(head).catch(() => undefined)
  // The extension is more specific for containers: DOCX is a ZIP, SVG is XML.
  if (detected !== undefined && byName !== undefined && containers.has(detected.mime)) return byName
  if (detected !== undefined) return detected.mime
  const text = isText(head, head.length === HEAD_BYTES)
  if (byName !== undefined && (text || !isTextType(byName))) return byName
  if (
    statedType !== null &&
    /^[\w.+-]+\/[\w.+-]+$/.test(statedType) &&
    statedType.length <= 127 &&
    statedType !== UNKNOWN
  ) {
    if (text || !isTextType(statedType)) return statedType.toLowerCase()
  }
  return text ? 'text/plain' : UNKNOWN
}

const containers = new Set(['application/zip', 'application/xml', 'application/x-cfb', 'text/xml'])

export const isTextType = (type: string): boolean =>
  /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|toml|sql|x-ndjson|javascript)\b/.test(type)
