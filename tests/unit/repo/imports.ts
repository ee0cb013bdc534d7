import { posix } from 'node:path';
import ts from 'typescript';
import { nodesOf, type Source } from './source.js';

export interface Import {
  /** As written: `../core/time.js`, `ioredis`. */
  readonly specifier: string;
  /** Path from the root of a relative import's file; undefined for a package. */
  readonly target: string | undefined;
  /** Nothing of it is left when types are gone. */
  readonly typeOnly: boolean;
  /** `import('...')`: loaded only when needed. */
  readonly lazy: boolean;
}

/** Every way in which a file can name another module: import, export from, `import()`, `import('x').T`, require. */
export function importsOf(source: Source): Import[] {
  const make = (node: ts.Expression | undefined, typeOnly: boolean, lazy: boolean): Import[] => {
    if (node === undefined || !ts.isStringLiteral(node)) return [];
    const specifier = node.text;
    const folder = posix.dirname(source.path);
    const target = specifier.startsWith('.') ? posix.join(folder, specifier).replace(/\.js$/, '.ts') : undefined;
    return [{ specifier, target, typeOnly, lazy }];
  };
  return [
    ...nodesOf(source, ts.isImportDeclaration).flatMap((node) => {
      return make(node.moduleSpecifier, onlyTypes(node.importClause), false);
    }),
    ...nodesOf(source, ts.isExportDeclaration).flatMap((node) => make(node.moduleSpecifier, node.isTypeOnly, false)),
    ...nodesOf(source, ts.isImportTypeNode).flatMap(({ argument }) => {
      return make(ts.isLiteralTypeNode(argument) ? (argument.literal as ts.Expression) : undefined, true, false);
    }),
    ...nodesOf(source, ts.isCallExpression).flatMap((call) => {
      const isImport = call.expression.kind === ts.SyntaxKind.ImportKeyword;
      const isRequire = ts.isIdentifier(call.expression) && call.expression.text === 'require';
      return isImport || isRequire ? make(call.arguments[0], false, isImport) : [];
    }),
  ];
}

/** `import type ...`, or braces in which every name is marked `type`. */
function onlyTypes(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const names = clause.namedBindings;
  return clause.name === undefined && names !== undefined && ts.isNamedImports(names) && names.elements.every(isType);
}

const isType = (name: ts.ImportSpecifier): boolean => name.isTypeOnly;

/** Places where one of these global names is used as a value, not as a member, a declaration or a type. */
export function usesOf(source: Source, names: ReadonlySet<string>): ts.Identifier[] {
  return nodesOf(source, ts.isIdentifier).filter((node) => names.has(node.text) && isReference(node));
}

function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  const isNamed = 'name' in parent && parent.name === node;
  const isRenamed = 'propertyName' in parent && parent.propertyName === node;
  return !isNamed && !isRenamed && !ts.isTypeReferenceNode(parent) && !ts.isQualifiedName(parent);
}
