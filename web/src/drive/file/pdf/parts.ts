import { version } from 'pdfjs-dist'

/** Where the build puts what PDFs need beside their own bytes (web/pdf-parts.ts). */
export const PARTS = `/app/assets/pdf-${version}/`
