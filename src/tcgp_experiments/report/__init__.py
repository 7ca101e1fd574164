"""Results: tables, figures and pages compared with the paper, and BBOB runs for COCO."""
