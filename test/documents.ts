/** The smallest PDF that shows these lines, one a page. */
export function pdfOf(pages: readonly string[]): Buffer {
  const objects: string[] = []
  const add = (body: string): number => objects.push(body)
  add('<< /Type /Catalog /Pages 2 0 R >>')
  add('')
  const font = add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>')
  const kids = pages.map((line) => {
    const drawn = `BT /F1 12 Tf 72 720 Td (${line.replace(/[()\\]/g, '\\$&')}) Tj ET`
    const content = add(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`)
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${content} 0 R /Resources << /Font << /F1 ${font} 0 R >> >> >>`,
    )
  })
  objects[1] = `<< /Type /Pages /Kids [${kids.map((id) => `${id} 0 R`).join(' ')}] /Count ${kids.length} >>`
  let file = '%PDF-1.4\n'
  const places = objects.map((body, i) => {
    const at = file.length
    file += `${i + 1} 0 obj\n${body}\nendobj\n`
    return at
  })
  const start = file.length
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')}`
  file += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(file, 'latin1')
}
