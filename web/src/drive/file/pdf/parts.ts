import { version } from 'pdfjs-dist'

/** The folder in which the build puts what PDFs need beside their own bytes (web/pdf-parts.ts). */
export const PARTS = `/app/assets/pdf-${version}/`
