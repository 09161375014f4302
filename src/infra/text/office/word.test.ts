import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, relationships } from '#test/drive/office.ts'
import { readDocx } from './word.ts'

const spaces =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
const t = (text: string): string => `<w:t xml:space="preserve">${text}</w:t>`
const r = (text: string): string => `<w:r>${t(text)}</w:r>`
const p = (content: string, properties = ''): string =>
  `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}${content}</w:p>`

async function read(body: string, parts: Record<string, [type: string, xml: string]> = {}): Promise<string> {
  const names = Object.entries(parts)
  const bytes = await partsOf({
    '_rels/.rels': relationships({ m: ['officeDocument', 'text/main.xml'] }),
    'text/main.xml': `<w:document ${spaces}><w:body>${body}</w:body></w:document>`,
    'text/_rels/main.xml.rels': relationships({
      web: ['hyperlink', 'https://example.com/a_b'],
      ...Object.fromEntries(names.map(([id, [type]]) => [id, [type, `${id}.xml`] as [string, string]])),
    }),
    ...Object.fromEntries(names.map(([id, [, xml]]) => [`text/${id}.xml`, xml.replace(/^<([\w:]+)/, `<$1 ${spaces}`)])),
  })
  return (await readDocx({ kind: 'docx', bytes })).text
}

const box = (text: string): string =>
  `<wps:wsp><wps:txbx><w:txbxContent>${p(r(text))}</w:txbxContent></wps:txbx></wps:wsp>`
const drawing = (data: string, description = ''): string =>
  `<w:r><w:drawing><wp:inline><wp:docPr id="1" name="x"${description && ` descr="${description}"`}/><a:graphic><a:graphicData>${data}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>`
const math = (content: string): string => `<m:oMath>${content}</m:oMath>`
const mr = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`

/** All paragraph content with text (ECMA-376, part 1, 17 and 22.1), with the expected text. */
const inline: [name: string, xml: string, text: string][] = [
  ['runs', r('one') + r(' two'), 'one two'],
  ['tab', `<w:r>${t('a')}<w:tab/>${t('b')}</w:r>`, 'a\tb'],
  ['br', `<w:r>${t('a')}<w:br/>${t('b')}<w:cr/>${t('c')}</w:r>`, 'a\nb\nc'],
  ['hyphens', `<w:r>${t('well')}<w:noBreakHyphen/>${t('kn')}<w:softHyphen/>${t('own')}</w:r>`, 'well-known'],
  ['sym', '<w:r><w:sym w:font="Symbol" w:char="F061"/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>', 'α✓'],
  ['entities', r('&lt;b&gt; &amp;amp; &#233;'), '<b> &amp; é'],
  ['ins and del', `<w:ins>${r('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>`, 'new'],
  ['moveTo and moveFrom', `<w:moveFrom>${r('old')}</w:moveFrom><w:moveTo>${r('new')}</w:moveTo>`, 'new'],
  ['sdt', `<w:sdt><w:sdtPr/><w:sdtContent>${r('chosen')}</w:sdtContent></w:sdt>`, 'chosen'],
  ['smartTag, customXml', `<w:smartTag>${r('a')}</w:smartTag><w:customXml>${r('b')}</w:customXml>`, 'ab'],
  ['fldSimple', `<w:fldSimple w:instr="PAGE">${r('7')}</w:fldSimple>`, '7'],
  [
    'fldChar',
    `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${r('Table 2')}<w:r><w:fldChar w:fldCharType="end"/></w:r>`,
    'Table 2',
  ],
  ['hyperlink', `<w:hyperlink r:id="web">${r('here')}</w:hyperlink>`, '[here](https://example.com/a_b)'],
  [
    'hyperlink of itself',
    `<w:hyperlink r:id="web">${r('https://example.com/a_b')}</w:hyperlink>`,
    'https://example.com/a_b',
  ],
  ['ruby', `<w:r><w:ruby><w:rt>${r('kan')}</w:rt><w:rubyBase>${r('漢')}</w:rubyBase></w:ruby></w:r>`, '漢'],
  ['text box', drawing(box('Care')), 'Care'],
  ['text box beside text', r('Beside') + drawing(box('Care')), 'Beside\n\nCare'],
  [
    'text box with a fallback',
    `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>${box('Care')}</w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>${p(r('Care'))}</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>`,
    'Care',
  ],
  [
    'VML text box',
    `<w:r><w:pict><v:shape><v:textbox><w:txbxContent>${p(r('Old'))}</w:txbxContent></v:textbox></v:shape></w:pict></w:r>`,
    'Old',
  ],
  ['WordArt', '<w:r><w:pict><v:shape><v:textpath string="Draft"/></v:shape></w:pict></w:r>', 'Draft'],
  ['picture', drawing('<pic/>', 'A red kite'), 'A red kite'],
  ['oMath', r('Area: ') + math(mr('A=lw')), 'Area: A=lw'],
  ['fraction', math(`<m:f><m:num>${mr('a+b')}</m:num><m:den>${mr('2')}</m:den></m:f>`), '(a+b)/2'],
  [
    'scripts',
    math(`<m:sSubSup><m:e>${mr('x')}</m:e><m:sub>${mr('1')}</m:sub><m:sup>${mr('2')}</m:sup></m:sSubSup>`),
    'x_1^2',
  ],
  ['radical', math(`<m:rad><m:deg/><m:e>${mr('x+1')}</m:e></m:rad>`), '√(x+1)'],
  [
    'sum',
    math(
      `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${mr('i=1')}</m:sub><m:sup>${mr('n')}</m:sup><m:e>${mr('i')}</m:e></m:nary>`,
    ),
    '∑_(i=1)^n i',
  ],
  ['delimiters', math(`<m:d><m:e>${mr('x')}</m:e></m:d>`), '(x)'],
  ['matrix', math(`<m:m><m:mr><m:e>${mr('1')}</m:e><m:e>${mr('2')}</m:e></m:mr></m:m>`), '[1, 2]'],
  ['function', math(`<m:func><m:fName>${mr('sin')}</m:fName><m:e>${mr('x')}</m:e></m:func>`), 'sin x'],
]

test('all text in a paragraph is read', async () => {
  for (const [name, xml, text] of inline) assert.equal(await read(p(xml)), text, name)
})

const tc = (content: string): string => `<w:tc>${content}</w:tc>`
const tr = (...cells: string[]): string => `<w:tr>${cells.map(tc).join('')}</w:tr>`
const tbl = (...rows: string[]): string => `<w:tbl>${rows.join('')}</w:tbl>`
const sections =
  '<w:sectPr><w:headerReference w:type="default" r:id="top"/><w:footerReference w:type="default" r:id="foot"/></w:sectPr>'
const level = (depth: number, format: string, text: string): string =>
  `<w:lvl w:ilvl="${depth}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`
const listItem = (depth: number, list = 1): string =>
  `<w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${list}"/></w:numPr>`

test('headers, footers, notes, comments and charts are read through their relationships', async () => {
  const separator = `<w:footnote w:type="separator" w:id="-1">${p(r('—'))}</w:footnote>`
  const text = await read(
    p(`${r('Text')}<w:r><w:footnoteReference w:id="1"/></w:r><w:r><w:endnoteReference w:id="1"/></w:r>`) + sections,
    {
      top: ['header', `<w:hdr>${p(r('Stationers'))}</w:hdr>`],
      foot: ['footer', `<w:ftr>${p(r('Order 2048'))}</w:ftr>`],
      old: ['header', `<w:hdr>${p(r('Not used'))}</w:hdr>`],
      notes: [
        'footnotes',
        `<w:footnotes>${separator}<w:footnote w:id="1">${p(r('A note'))}</w:footnote></w:footnotes>`,
      ],
      ends: ['endnotes', `<w:endnotes><w:endnote w:id="1">${p(r('An end'))}</w:endnote></w:endnotes>`],
      said: ['comments', `<w:comments><w:comment w:id="0" w:author="Ann">${p(r('Really?'))}</w:comment></w:comments>`],
    },
  )
  assert.equal(
    text,
    'Stationers\n\nText[^1][^e1]\n\nOrder 2048\n\n[^1]: A note\n\n[^e1]: An end\n\nComments:\n\nAnn: Really?',
  )
  const chart =
    '<c:chartSpace><c:ser><c:tx><c:v>North</c:v></c:tx><c:cat><c:pt><c:v>May</c:v></c:pt></c:cat><c:val><c:pt><c:v>12</c:v></c:pt></c:val></c:ser></c:chartSpace>'
  assert.equal(await read(p(drawing('<c:chart r:id="pie"/>')), { pie: ['chart', chart] }), '\tMay\nNorth\t12')
})

test('a table row is one line, even with several paragraphs, controls and nested tables', async () => {
  const inner = tbl(tr(p(r('Lid')), p(r('Base'))))
  const body = tbl(
    tr(p(r('Article')), p(r('Pieces'))),
    tr(p(r('two')) + p(r('lines')), `<w:sdt><w:sdtContent>${p(r('40'))}</w:sdtContent></w:sdt>`),
    `<w:sdt><w:sdtContent>${tr(p(r('Case')) + inner + p(''), p(r('5')))}</w:sdtContent></w:sdt>`,
    `<w:tr><w:trPr><w:del/></w:trPr>${tc(p(r('gone')))}</w:tr>`,
  )
  assert.equal(await read(body), '| Article | Pieces |\n| --- | --- |\n| two lines | 40 |\n| Case Lid Base | 5 |')
})

test('headings and list numbers are read as displayed', async () => {
  const numbering = `<w:numbering><w:abstractNum w:abstractNumId="7">${level(0, 'decimal', '%1.')}${level(1, 'lowerLetter', '%1.%2)')}</w:abstractNum><w:abstractNum w:abstractNumId="8">${level(0, 'bullet', '')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num></w:numbering>`
  const styles =
    '<w:styles><w:style w:styleId="Kop2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Mine"><w:basedOn w:val="Kop2"/></w:style></w:styles>'
  const body = [
    p(r('Title'), '<w:pStyle w:val="Heading1"/>'),
    p(r('Part'), '<w:pStyle w:val="Mine"/>'),
    p(r('one'), listItem(0)),
    p(r('in'), listItem(1)),
    p(r('two'), listItem(0)),
    p(r('in'), listItem(1)),
    p(r('dot'), listItem(0, 2)),
  ].join('')
  assert.equal(
    await read(body, { n: ['numbering', numbering], s: ['styles', styles] }),
    '# Title\n\n## Part\n\n1. one\n\n  1.a) in\n\n2. two\n\n  2.a) in\n\n- dot',
  )
})
