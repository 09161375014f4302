import { zipOf } from './documents.ts'

const declared = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** An Office package of these parts. */
export const partsOf = (parts: Readonly<Record<string, string>>): Promise<Buffer> =>
  zipOf(
    Object.fromEntries(
      Object.entries(parts).map(([name, xml]) => [name, xml.startsWith('<?xml') ? xml : `${declared}${xml}`]),
    ),
  )

/** The part that names others, by id: their kind and where they are. */
export const relationships = (targets: Readonly<Record<string, readonly [type: string, target: string]>>): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${Object.entries(targets)
    .map(
      ([id, [type, target]]) =>
        `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"${/^(https?|mailto):/.test(target) ? ' TargetMode="External"' : ''}/>`,
    )
    .join('')}</Relationships>`
