module github.com/dogwooddb/dogwood

go 1.26
