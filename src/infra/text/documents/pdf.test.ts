import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pdfOf } from '#test/drive/documents.ts'
import { readPdf } from './pdf.ts'

/**
 * A page with a font that is only named: not embedded, without a ToUnicode map, with a predefined CMap (ISO 32000-1,
 * 9.7.5.2).
 */
function eastAsian(encoding: string, ordering: string, hex: string): Buffer {
  const content = `BT /Body 18 Tf 40 220 Td <${hex}> Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 420 300] /Contents 4 0 R /Resources << /Font << /Body 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /Font /Subtype /Type0 /BaseFont /Sample /Encoding /${encoding} /DescendantFonts [6 0 R] >>`,
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Sample /DW 1000 /FontDescriptor 7 0 R /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> >>`,
    '<< /Type /FontDescriptor /FontName /Sample /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
  ]
  let file = '%PDF-1.7\n'
  const offsets = objects.map((object, i) => {
    const at = file.length
    file += `${i + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, '0')} 00000 n \n`
  })
  const start = file.length
  return Buffer.from(
    `${file}xref\n0 8\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size 8 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`,
  )
}

/** Predefined CMaps of table 118 by character collection, with sample text in each encoding. */
const collections: [ordering: string, text: string, cmaps: Record<string, string>][] = [
  [
    'GB1',
    '会议',
    {
      'GB-EUC-H GB-EUC-V GBpc-EUC-H GBpc-EUC-V GBK-EUC-H GBK-EUC-V GBKp-EUC-H GBKp-EUC-V GBK2K-H GBK2K-V': 'BBE1D2E9',
      'UniGB-UCS2-H UniGB-UCS2-V UniGB-UTF16-H UniGB-UTF16-V': '4F1A8BAE',
    },
  ],
  [
    'CNS1',
    '會議',
    {
      'B5pc-H B5pc-V HKscs-B5-H HKscs-B5-V ETen-B5-H ETen-B5-V ETenms-B5-H ETenms-B5-V': 'B77CC4B3',
      'UniCNS-UCS2-H UniCNS-UCS2-V UniCNS-UTF16-H UniCNS-UTF16-V': '67038B70',
    },
  ],
  ['CNS1', '一', { 'CNS-EUC-H CNS-EUC-V': 'C4A1' }],
  [
    'Japan1',
    '会議',
    {
      '83pv-RKSJ-H 90ms-RKSJ-H 90ms-RKSJ-V 90msp-RKSJ-H 90msp-RKSJ-V 90pv-RKSJ-H Add-RKSJ-H Add-RKSJ-V Ext-RKSJ-H Ext-RKSJ-V':
        '89EF8B63',
      'EUC-H EUC-V': 'B2F1B5C4',
      'H V': '32713544',
      'UniJIS-UCS2-H UniJIS-UCS2-V UniJIS-UCS2-HW-H UniJIS-UCS2-HW-V UniJIS-UTF16-H UniJIS-UTF16-V': '4F1A8B70',
    },
  ],
  [
    'Korea1',
    '회의',
    {
      'KSC-EUC-H KSC-EUC-V KSCms-UHC-H KSCms-UHC-V KSCms-UHC-HW-H KSCms-UHC-HW-V KSCpc-EUC-H': 'C8B8C0C7',
      'UniKS-UCS2-H UniKS-UCS2-V UniKS-UTF16-H UniKS-UTF16-V': 'D68CC758',
    },
  ],
]

for (const [ordering, text, cmaps] of collections)
  test(`text of the character collection Adobe-${ordering} is read by each predefined CMap: ${text}`, async () => {
    for (const [names, hex] of Object.entries(cmaps))
      for (const name of names.split(' ')) {
        const result = await readPdf({ kind: 'pdf', bytes: eastAsian(name, ordering, hex) })
        // Vertical text may have one character per line.
        assert.equal(result.text.replace(/\s/g, ''), text, name)
        assert.equal(result.missing, null, name)
      }
  })

test('a page without text is reported', async () => {
  assert.equal((await readPdf({ kind: 'pdf', bytes: pdfOf(['One', 'Two']) })).missing, null)
  assert.equal((await readPdf({ kind: 'pdf', bytes: pdfOf(['One', '']) })).missing, 'incomplete')
  // A nonexistent CMap.
  assert.equal((await readPdf({ kind: 'pdf', bytes: eastAsian('No-Such-H', 'Japan1', '4F1A') })).missing, 'incomplete')
})
