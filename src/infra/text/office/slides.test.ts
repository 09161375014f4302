import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, relationships } from '#test/drive/office.ts'
import { readPptx } from './slides.ts'

const drawing =
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
const run = (text: string): string => `<a:r><a:t>${text}</a:t></a:r>`
const shape = (paragraphs: string, type = ''): string =>
  `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr>${type === '' ? '' : `<p:ph type="${type}"/>`}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>${paragraphs}</p:txBody></p:sp>`
const slide = (shapes: string, root = 'sld', more = ''): string =>
  `<p:${root} ${drawing}${more}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:${root}>`

async function deck(
  slides: Record<string, { xml: string; related?: Record<string, [type: string, target: string]> }>,
  order: string[],
  parts: Record<string, string> = {},
) {
  const names = Object.keys(slides)
  const { text } = await readPptx({
    kind: 'pptx',
    bytes: await partsOf({
      '_rels/.rels': relationships({ main: ['officeDocument', '/deck/main.xml'] }),
      'deck/main.xml': `<p:presentation ${drawing}><p:sldIdLst>${order.map((name, i) => `<p:sldId id="${300 + i}" r:id="to-${name}"/>`).join('')}</p:sldIdLst></p:presentation>`,
      'deck/_rels/main.xml.rels': relationships(
        Object.fromEntries(names.map((name) => [`to-${name}`, ['slide', `pages/${name}.xml`]])),
      ),
      ...Object.fromEntries(names.map((name) => [`deck/pages/${name}.xml`, slides[name]!.xml])),
      ...Object.fromEntries(
        names.map((name) => [`deck/pages/_rels/${name}.xml.rels`, relationships(slides[name]!.related ?? {})]),
      ),
      ...parts,
    }),
  })
  return text
}
const paragraph = (content: string): string => `<a:p>${content}</a:p>`

test('slides follow the presentation’s order, without deleted ones, each with its notes', async () => {
  const text = await deck(
    {
      slide1: { xml: slide(shape(paragraph(run('Caf&#233; &#x2014; hours')))) },
      slide2: { xml: slide(shape(paragraph(run('Deleted')))) },
      slide3: {
        xml: slide(shape(paragraph(`${run('Welcome')}<a:br/>${run('Visitors')}`))),
        related: { n: ['notesSlide', '../notes/n7.xml'], c: ['comments', '../c.xml'] },
      },
    },
    ['slide3', 'slide1'],
    {
      'deck/notes/n7.xml': slide(
        shape(paragraph(run('Greet everyone')), 'body') +
          shape(paragraph('<a:fld type="slidenum"><a:t>7</a:t></a:fld>'), 'sldNum'),
        'notes',
      ),
      'deck/c.xml': `<p:cmLst ${drawing}><p:cm><p:text>Shorter?</p:text></p:cm></p:cmLst>`,
    },
  )
  assert.equal(
    text,
    '# Slide 1\nWelcome\nVisitors\n\nNotes:\nGreet everyone\n\nComments:\nShorter?\n\n# Slide 2\nCafé — hours',
  )
})

/** All paragraph content (DrawingML, CT_TextParagraph), with the expected text. */
const inline: [name: string, xml: string, text: string][] = [
  ['r', run('one'), 'one'],
  ['runs side by side', run('on') + run('e'), 'one'],
  ['br', `${run('one')}<a:br><a:rPr/></a:br>${run('two')}`, 'one\ntwo'],
  ['vertical tab', run('one_x000B_two'), 'one\ntwo'],
  ['fld', '<a:fld id="{1}" type="datetime1"><a:rPr/><a:t>27 May</a:t></a:fld>', '27 May'],
  ['entities', run('&lt;b&gt; &amp;amp; &quot;&#128512;&apos;'), '<b> &amp; "😀\''],
  ['CDATA', '<a:r><a:t><![CDATA[a < b]]></a:t></a:r>', 'a < b'],
  [
    'formula',
    `<mc:AlternateContent><mc:Choice Requires="a14"><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m></mc:Choice><mc:Fallback>${run('?')}</mc:Fallback></mc:AlternateContent>`,
    'x^2',
  ],
]
/** All slide content (CT_GroupShape) and related parts, with the expected text. */
const cell = (text: string): string => `<a:tc><a:txBody>${paragraph(run(text))}</a:txBody></a:tc>`
const frame = (data: string): string =>
  `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="1" name="x"/></p:nvGraphicFramePr><a:graphic><a:graphicData>${data}</a:graphicData></a:graphic></p:graphicFrame>`
const chart = `<c:chartSpace xmlns:c="c" ${drawing}><c:chart><c:title><c:tx><c:rich>${paragraph(run('Sales'))}</c:rich></c:tx></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>May</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>12</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>`
const shapes: [name: string, xml: string, text: string][] = [
  [
    'group',
    `<p:grpSp><p:grpSpPr/>${shape(paragraph(run('in')))}<p:grpSp>${shape(paragraph(run('deep')))}</p:grpSp></p:grpSp>`,
    'in\ndeep',
  ],
  [
    'table',
    frame(`<a:tbl><a:tr>${cell('a')}${cell('b')}</a:tr><a:tr>${cell('1')}${cell('2')}</a:tr></a:tbl>`),
    'a\tb\n1\t2',
  ],
  ['chart', frame('<c:chart xmlns:c="c" r:id="c1"/>'), 'Sales\n\tMay\nNorth\t12'],
  ['diagram', frame('<dgm:relIds xmlns:dgm="d" r:dm="d1" r:lo="x"/>'), 'Plan\nDo'],
  ['picture', '<p:pic><p:nvPicPr><p:cNvPr id="1" name="x" descr="A red kite"/></p:nvPicPr></p:pic>', 'A red kite'],
  ['connector', `<p:cxnSp><p:txBody>${paragraph(run('line'))}</p:txBody></p:cxnSp>`, 'line'],
  [
    'alternative',
    `<mc:AlternateContent><mc:Choice Requires="x">${shape(paragraph(run('new')))}</mc:Choice><mc:Fallback>${shape(paragraph(run('old')))}</mc:Fallback></mc:AlternateContent>`,
    'new',
  ],
  [
    'hidden',
    shape(paragraph(run('no'))).replace('name="x"', 'name="x" hidden="1"') + shape(paragraph(run('yes'))),
    'yes',
  ],
]

test('all content of paragraphs and slides is read', async () => {
  const parts = {
    'deck/charts/c.xml': chart,
    'deck/diagrams/d.xml': `<dgm:dataModel xmlns:dgm="d" ${drawing}><dgm:ptLst><dgm:pt><dgm:t>${paragraph(run('Plan'))}</dgm:t></dgm:pt><dgm:pt><dgm:t>${paragraph(run('Do'))}</dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`,
  }
  const related: Record<string, [string, string]> = {
    c1: ['chart', '../charts/c.xml'],
    d1: ['diagramData', '../diagrams/d.xml'],
  }
  const cases = [...inline.map(([name, xml, text]) => [name, shape(paragraph(xml)), text] as const), ...shapes]
  for (const [name, xml, expected] of cases)
    assert.equal(await deck({ one: { xml: slide(xml), related } }, ['one'], parts), `# Slide 1\n${expected}`, name)
})
