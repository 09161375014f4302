import { version } from 'pdfjs-dist'

/** The build folder with pdf.js resources (web/pdf-parts.ts). */
export const PARTS = `/app/assets/pdf-${version}/`
