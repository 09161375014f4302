import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import type { Plugin } from 'vite'
import { LICENCES, licencesText, packageOf } from '../src/interfaces/app/licences/licences.ts'

/**
 * Packages that the build copies files from, other than modules: pdf.js resources, the CSS reset, and the module
 * preloader.
 */
const BESIDE = ['pdfjs-dist', 'tailwindcss', 'vite', 'rolldown']

export function thirdPartyLicences(): Plugin {
  return {
    name: 'third-party-licences',
    apply: 'build',
    generateBundle(_, bundle) {
      const { resolve } = createRequire(import.meta.url)
      const files = Object.values(bundle).flatMap((part) =>
        part.type === 'chunk'
          ? Object.keys(part.modules)
          : part.originalFileNames.map((name) => join(import.meta.dirname, name)),
      )
      const folders = new Set(BESIDE.map((name) => dirname(resolve(`${name}/package.json`))))
      for (const file of files) {
        const folder = packageOf(file.replace(/^\0/, '').replace(/\?.*$/, ''))
        if (folder !== null) folders.add(folder)
      }
      this.emitFile({ type: 'asset', fileName: LICENCES, source: licencesText(folders) })
    },
  }
}
